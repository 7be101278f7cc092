CREATE TABLE `kept_keys` (
	`name` text PRIMARY KEY NOT NULL,
	`sealed_key` text NOT NULL
) STRICT;
