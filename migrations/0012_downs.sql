ALTER TABLE `agents` ADD `down_at` integer;--> statement-breakpoint
ALTER TABLE `agents` ADD `last_error` text;