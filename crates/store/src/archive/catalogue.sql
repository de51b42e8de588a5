CREATE TABLE pack (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, rows INTEGER NOT NULL);
CREATE TABLE packed (id TEXT PRIMARY KEY, pack INTEGER NOT NULL, row INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE INDEX packed_pack ON packed (pack);
CREATE TABLE again (pack INTEGER NOT NULL, row INTEGER NOT NULL, id TEXT NOT NULL);
CREATE INDEX again_id ON again (id);
CREATE TABLE shard (name TEXT PRIMARY KEY, changed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE loose (id TEXT PRIMARY KEY, shard TEXT NOT NULL, category TEXT NOT NULL,
  attempt TEXT NOT NULL);
CREATE INDEX loose_shard ON loose (shard);
CREATE INDEX loose_category ON loose (category, id);
CREATE TABLE damaged (path TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE revision (name TEXT NOT NULL, changes INTEGER NOT NULL);
INSERT INTO revision VALUES (hex(randomblob(16)), 0);
CREATE TRIGGER pack_came AFTER INSERT ON pack BEGIN UPDATE revision SET changes = changes + 1; END;
CREATE TRIGGER pack_went AFTER DELETE ON pack BEGIN UPDATE revision SET changes = changes + 1; END;
CREATE TRIGGER loose_came AFTER INSERT ON loose
  BEGIN UPDATE revision SET changes = changes + 1; END;
CREATE TRIGGER loose_went AFTER DELETE ON loose
  BEGIN UPDATE revision SET changes = changes + 1; END;
