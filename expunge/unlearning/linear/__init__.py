"""Linear models: scikit-learn's estimators and the strategies for convex losses."""
