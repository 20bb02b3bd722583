"""Campaigns whose legs, coverage and failures are kept in a directory: stopped, resumed, guided."""
