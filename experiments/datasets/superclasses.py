"""The paper's 24 superclasses of DomainNet. Paper: its appendix, "Class aggregation"."""

__all__ = ["SUPERCLASSES"]

SUPERCLASSES: dict[str, tuple[str, ...]] = {
    "Furniture": (
        "bathtub", "bed", "bench", "ceiling fan", "chair", "chandelier", "couch", "door",
        "dresser", "fence", "fireplace", "floor lamp", "hot tub", "ladder", "lantern",
        "mailbox", "picture frame", "pillow", "postcard", "see saw", "sink", "sleeping bag",
        "stairs", "stove", "streetlight", "suitcase", "swing set", "table", "teapot",
        "toilet", "toothbrush", "toothpaste", "umbrella", "vase", "wine glass",
    ),
    "Mammal": (
        "bat", "bear", "camel", "cat", "cow", "dog", "dolphin", "elephant", "giraffe",
        "hedgehog", "horse", "kangaroo", "lion", "monkey", "mouse", "panda", "pig",
        "rabbit", "raccoon", "rhinoceros", "sheep", "squirrel", "tiger", "whale", "zebra",
    ),
    "Tool": (
        "anvil", "axe", "bandage", "basket", "boomerang", "bottlecap", "broom", "bucket",
        "compass", "drill", "dumbbell", "hammer", "key", "nail", "paint can", "passport",
        "pliers", "rake", "rifle", "saw", "screwdriver", "shovel", "skateboard",
        "stethoscope", "stitches", "sword", "syringe", "wheel",
    ),
    "Cloth": (
        "belt", "bowtie", "bracelet", "camouflage", "crown", "diamond", "eyeglasses",
        "flip flops", "hat", "helmet", "jacket", "lipstick", "necklace", "pants", "purse",
        "rollerskates", "shoe", "shorts", "sock", "sweater", "t-shirt", "underwear",
        "wristwatch",
    ),
    "Electricity": (
        "calculator", "camera", "cell phone", "computer", "cooler", "dishwasher", "fan",
        "flashlight", "headphones", "keyboard", "laptop", "light bulb", "megaphone",
        "microphone", "microwave", "oven", "power outlet", "radio", "remote control",
        "spreadsheet", "stereo", "telephone", "television", "toaster", "washing machine",
    ),
    "Building": (
        "The Eiffel Tower", "The Great Wall", "barn", "bridge", "castle", "church",
        "diving board", "garden", "garden hose", "golf club", "hospital", "house", "jail",
        "lighthouse", "pond", "pool", "skyscraper", "square", "tent", "waterslide",
        "windmill",
    ),
    "Office": (
        "alarm clock", "backpack", "binoculars", "book", "calendar", "candle", "clock",
        "coffee cup", "crayon", "cup", "envelope", "eraser", "map", "marker", "mug",
        "paintbrush", "paper clip", "pencil", "scissors",
    ),
    "Human Body": (
        "arm", "beard", "brain", "ear", "elbow", "eye", "face", "finger", "foot", "goatee",
        "hand", "knee", "leg", "moustache", "mouth", "nose", "skull", "smiley face", "toe",
        "tooth",
    ),
    "Road Transportation": (
        "ambulance", "bicycle", "bulldozer", "bus", "car", "firetruck", "motorbike",
        "pickup truck", "police car", "roller coaster", "school bus", "tractor", "train",
        "truck", "van",
    ),
    "Food": (
        "birthday cake", "bread", "cake", "cookie", "donut", "hamburger", "hot dog",
        "ice cream", "lollipop", "peanut", "pizza", "popsicle", "sandwich", "steak",
    ),
    "Nature": (
        "beach", "cloud", "hurricane", "lightning", "moon", "mountain", "ocean", "rain",
        "rainbow", "river", "snowflake", "star", "sun", "tornado",
    ),
    "Cold Blooded": (
        "crab", "crocodile", "fish", "frog", "lobster", "octopus", "scorpion", "sea turtle",
        "shark", "snail", "snake", "spider",
    ),
    "Music": (
        "cello", "clarinet", "drums", "guitar", "harp", "piano", "saxophone", "trombone",
        "trumpet", "violin",
    ),
    "Fruit": (
        "apple", "banana", "blackberry", "blueberry", "grapes", "pear", "pineapple",
        "strawberry", "watermelon",
    ),
    "Sport": (
        "baseball", "baseball bat", "basketball", "flying saucer", "hockey puck",
        "hockey stick", "snorkel", "soccer ball", "tennis racquet", "yoga",
    ),
    "Tree": (
        "bush", "cactus", "flower", "grass", "house plant", "leaf", "palm tree", "tree",
    ),
    "Bird": (
        "bird", "duck", "flamingo", "owl", "parrot", "penguin", "swan",
    ),
    "Vegetable": (
        "asparagus", "broccoli", "carrot", "mushroom", "onion", "peas", "potato",
        "string bean",
    ),
    "Shape": (
        "circle", "hexagon", "line", "octagon", "squiggle", "triangle", "zigzag",
    ),
    "Kitchen": (
        "fork", "frying pan", "hourglass", "knife", "lighter", "matches", "spoon",
        "wine bottle",
    ),
    "Water Transportation": (
        "aircraft carrier", "canoe", "cruise ship", "sailboat", "speedboat", "submarine",
    ),
    "Sky Transportation": (
        "airplane", "helicopter", "hot air balloon", "parachute",
    ),
    "Insect": (
        "ant", "bee", "butterfly", "mosquito",
    ),
    "Others": (
        "The Mona Lisa", "angel", "animal migration", "campfire", "cannon", "dragon",
        "feather", "fire hydrant", "mermaid", "snowman", "stop sign", "teddy-bear",
        "traffic light",
    ),
}  # fmt: skip
