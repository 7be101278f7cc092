CREATE TABLE `stored_responses` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`previous_id` text,
	`input` text NOT NULL,
	`response` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `stored_responses_by_user` ON `stored_responses` (`user_id`,`used_at`,`size_bytes`);--> statement-breakpoint
CREATE INDEX `stored_responses_by_use` ON `stored_responses` (`used_at`);