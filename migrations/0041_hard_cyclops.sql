ALTER TABLE `messages` ADD `replaced_by` text;--> statement-breakpoint
CREATE INDEX `messages_by_replacement` ON `messages` (`replaced_by`);