"""Files and built-in sets into token stores and batches."""
