SELECT DISTINCT pid FROM (
  SELECT pid FROM process WHERE {{hosts}} AND {{days}} AND {{job_is identifier}}
  UNION ALL
  SELECT pid FROM {{name exit}} WHERE {{hosts}} AND {{ends}} AND {{job_is identifier}}
) AS told
