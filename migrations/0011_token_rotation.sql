ALTER TABLE `agents` ADD `retiring_token_hash` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `tokens_changed_at` integer;--> statement-breakpoint
CREATE INDEX `agents_by_retiring_token` ON `agents` (`retiring_token_hash`);