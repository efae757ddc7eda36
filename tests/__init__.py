"""The tests; `test_<module>.py` is about `grader/<module>.py`."""
