  SELECT * FROM (
    SELECT t.*, row_number() OVER (PARTITION BY host, boot_id, pid, start_ns
      ORDER BY since_ns DESC, at_ns DESC) AS place
    FROM (
    {{tellings}}
    ) AS t
  ) AS r WHERE place = 1
