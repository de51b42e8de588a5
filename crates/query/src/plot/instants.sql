SELECT host, boot_id, min(at_ns) AS at_ns
FROM sample WHERE {{hosts}} AND {{window}} AND {{members}}
GROUP BY host, boot_id, {{slot}}
