"""Read models of the REST interface: runs with their health strip, charts and time; launches."""
