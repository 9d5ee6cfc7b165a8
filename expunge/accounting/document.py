"""JSON at the edge: what `expunge account` reads, checked and turned into records.

Pydantic checks structure and types; the records check whether the numbers make sense.
Every error is one line that names the field.
"""

from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    WithJsonSchema,
)

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.accounting.history import History, Phase, Poisson
from expunge.accounting.json_text import USUAL, JsonLimits, parse_json
from expunge.errors import InvalidInput

__all__ = ["AccountRequest", "account_document", "parse_account", "validate"]


PROBLEMS = {
    "missing": "required",
    "extra_forbidden": "unknown key",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}


KEY = "[key]"  # how pydantic marks that a key is wrong, not its value


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if isinstance(value, int) and abs(value) > 2**1000:
        raise ValueError("too large")
    return value


def _count(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1e4 is a whole number
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _constant(value: object) -> object:
    return value if isinstance(value, dict) else {"value": value}


def _batch_size(value: object) -> object:
    if value is None:
        return None
    return [_count(size) for size in value] if isinstance(value, list) else _count(value)


Number = Annotated[float, BeforeValidator(_number)]
Count = Annotated[int, BeforeValidator(_count), WithJsonSchema({"type": "integer", "minimum": 0})]
BatchSize = Annotated[
    Any,
    BeforeValidator(_batch_size),
    WithJsonSchema(
        {"type": ["integer", "array", "null"], "minimum": 1, "items": {"type": "integer"}}
    ),
]


Model = TypeVar("Model", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ConstantDocument(_Strict):
    value: Annotated[float | None, BeforeValidator(lambda v: v if v is None else _number(v))]
    mark: Mark = "assumed"


Constant = Annotated[ConstantDocument, BeforeValidator(_constant)]


class AssumptionsDocument(_Strict):
    strong_convexity: Constant | None = None
    smoothness: Constant | None = None
    lipschitz: Constant | None = None
    radius: Constant | None = None
    clip: Constant | None = None
    weight_decay: Constant | None = None
    initial_distance: Constant | None = None
    initial_log_sobolev: Constant | None = None


class PoissonDocument(_Strict):
    rate: Number
    counts: list[tuple[Count, Count]]


class PhaseDocument(_Strict):
    steps: Count
    step_size: Number
    sigma: Number
    samples: Count
    forgotten: Count
    released: StrictBool = False
    rounding: Number = 0.0
    batches: list[Count] | None = None
    batch_size: BatchSize = None
    poisson: PoissonDocument | None = None

    def record(self) -> Phase:
        """The phase as the record that the accountant reads."""
        poisson = self.poisson and Poisson(self.poisson.rate, tuple(self.poisson.counts))
        sizes = tuple(self.batch_size) if isinstance(self.batch_size, list) else self.batch_size
        return Phase(
            steps=self.steps,
            step_size=self.step_size,
            sigma=self.sigma,
            samples=self.samples,
            forgotten=self.forgotten,
            released=self.released,
            rounding=self.rounding,
            batches=None if self.batches is None else tuple(self.batches),
            batch_size=sizes,
            poisson=poisson,
        )


class AccountRequest(_Strict):
    """What `expunge account` reads."""

    assumptions: AssumptionsDocument
    phases: list[PhaseDocument]
    delta: Number
    orders: list[Number] = Field(default_factory=lambda: [2.0, 8.0])
    normaliser: Literal["mean", "fixed"] = "mean"
    normaliser_count: Count | None = None
    initial_distance: Constant | None = None
    initial_log_sobolev: Constant | None = None

    def records(self) -> tuple[Assumptions, History]:
        """Turn the document into the records that the accountant reads.

        Raises:
            InvalidInput: the numbers make no sense.
        """
        constants = {name: getattr(self.assumptions, name) for name in Assumptions.constants()}
        for name in ("initial_distance", "initial_log_sobolev"):
            given = getattr(self, name)
            if given is not None and constants[name] is not None:
                raise InvalidInput(name, "given twice, here and in assumptions")
            constants[name] = constants[name] or given
        known = {n: c for n, c in constants.items() if c is not None and c.value is not None}
        assumptions = Assumptions(
            **{name: constant.value for name, constant in known.items()},
            marks={name: constant.mark for name, constant in known.items()},
        )
        phases = []
        for i, phase in enumerate(self.phases):
            try:
                phases.append(phase.record())
            except InvalidInput as error:
                raise InvalidInput(f"phases[{i}].{error.field}", error.problem) from error
        return assumptions, History(tuple(phases), self.normaliser, self.normaliser_count)


def account_document(assumptions: Assumptions, history: History) -> dict[str, Any]:
    """Assumptions and history in the form that `expunge account` reads."""
    constants = {
        name: {"value": getattr(assumptions, name), "mark": assumptions.mark(name)}
        for name in assumptions.constants()
    }
    return {
        "assumptions": constants,
        "phases": [asdict(phase) for phase in history.phases],
        "normaliser": history.normaliser,
        "normaliser_count": history.normaliser_count,
        "delta": 0.5,  # not asked for; the form has one
    }


def parse_account(text: str, limits: JsonLimits = USUAL) -> AccountRequest:
    """Read the document that `expunge account` is given.

    Raises:
        InvalidInput: one line naming the first wrong field.
    """
    return validate(AccountRequest, parse_json(text, limits))


def validate(model: type[Model], document: object) -> Model:
    """Check a document and turn it into this model.

    Raises:
        InvalidInput: a field is wrong; the first one is named.
    """
    if not isinstance(document, dict):
        raise InvalidInput("input", "must be a JSON object")
    try:
        return model.model_validate(document)
    except ValidationError as errors:
        # A misspelt key explains the missing one, so it is named first.
        error = min(errors.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
        problem = PROBLEMS.get(error["type"], error["msg"].removeprefix("Value error, "))
        place = error["loc"]
        if place[-1:] == (KEY,):
            place, problem = place[:-1], "unknown key"
        raise InvalidInput(_path(place), problem[:1].lower() + problem[1:]) from errors


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path.removesuffix(".value") or "input"
