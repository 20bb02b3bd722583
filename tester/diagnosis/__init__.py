"""From a finding to a report."""
