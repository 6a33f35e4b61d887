"""The S3 extractor.

`service` sends requests to one bucket, with credentials from `credentials` and answers parsed by `pages`. `plan` divides
the bucket into ranges of keys, and `reading` converts each range to `Listing` records; `tree` finds the directories that
the keys imply. A later source of events, such as an inventory or a queue, only has to plan other splits.
"""

from extractors.s3.extractor import S3

__all__ = ["S3"]
