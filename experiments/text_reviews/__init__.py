"""Hashed and TF-IDF words of reviews, certified: accuracy and what a deletion costs."""
