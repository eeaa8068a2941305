"""The types that the rooms of the judge exchange: jobs, facts, runs, findings and reports. Imports no other room."""
