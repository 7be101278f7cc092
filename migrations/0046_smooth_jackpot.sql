CREATE TABLE `setup_links` (
	`id` integer PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "setup_links_one" CHECK("setup_links"."id" = 1)
) STRICT;
