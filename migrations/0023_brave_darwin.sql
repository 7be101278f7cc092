ALTER TABLE `clone_payments` ADD `amount_micro_usd` integer;--> statement-breakpoint
ALTER TABLE `clone_payments` ADD `undone_at` integer;--> statement-breakpoint
ALTER TABLE `clone_payments` ADD `check_at` integer;--> statement-breakpoint
CREATE INDEX `clone_payments_by_check` ON `clone_payments` (`check_at`);