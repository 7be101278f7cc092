DROP INDEX `referrals_by_referrer`;--> statement-breakpoint
ALTER TABLE `referrals` ADD `credited_at` integer;--> statement-breakpoint
CREATE INDEX `referrals_by_referrer` ON `referrals` (`referrer_id`,`credited_at`);--> statement-breakpoint
UPDATE `referrals` SET `credited_at` = `created_at`;