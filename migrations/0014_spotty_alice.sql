CREATE TABLE `readiness` (
	`id` integer PRIMARY KEY NOT NULL,
	`checked_at` integer NOT NULL,
	CONSTRAINT "readiness_one" CHECK("readiness"."id" = 1)
) STRICT;
