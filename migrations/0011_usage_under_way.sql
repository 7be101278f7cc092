CREATE TABLE `usage_under_way` (
	`generation_id` text PRIMARY KEY NOT NULL,
	`event` text NOT NULL
) STRICT;
