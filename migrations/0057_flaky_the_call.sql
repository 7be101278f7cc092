CREATE TABLE `service_credentials` (
	`name` text PRIMARY KEY NOT NULL,
	`sealed_value` text NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
