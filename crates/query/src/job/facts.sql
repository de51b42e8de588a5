WITH {{jobs}}
SELECT * FROM jobs WHERE {{job_is identifier}} ORDER BY scheduler, identifier
