"""Lets plain `pytest` run the checks of this folder."""

pytest_plugins = ["grader.plugin"]
