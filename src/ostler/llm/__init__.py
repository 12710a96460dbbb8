"""EDGE 2: model APIs, called directly; the code behind a provider is imported when it is used."""
