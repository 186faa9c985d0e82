"""The shapes of answers, as OpenAPI describes them. Tests hold every answer against them."""
