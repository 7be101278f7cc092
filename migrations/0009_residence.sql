CREATE TABLE `residence` (
	`id` integer PRIMARY KEY NOT NULL,
	`machine` text,
	`boot` text,
	`path` text NOT NULL,
	`volume` text,
	`inode` text NOT NULL,
	`database_file` text NOT NULL,
	`left_at` integer,
	CONSTRAINT "residence_one" CHECK("residence"."id" = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `sealing` (
	`id` integer PRIMARY KEY NOT NULL,
	`key_check` text NOT NULL,
	CONSTRAINT "sealing_one" CHECK("sealing"."id" = 1)
) STRICT;
