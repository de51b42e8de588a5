SELECT CAST(max({{micros time}}) * 1000 AS BIGINT) AS last_ns
FROM sample WHERE {{hosts}} AND {{window}} AND {{members}}
