SELECT host, boot_id, min(at_ns) AS begin_ns, max(at_ns) AS over_ns,
  max({{micros time}} * 1000 - at_ns) AS offset_ns
FROM sample WHERE {{hosts}} AND {{window}} GROUP BY host, boot_id
