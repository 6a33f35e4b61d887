"""navlin's own records: runs, rejects, requests, leases, purges, removals and edits."""
