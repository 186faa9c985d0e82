"""Types of the REST interface's JSON, of which answers, OpenAPI and the pages' JSDoc types are made."""
