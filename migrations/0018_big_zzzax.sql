CREATE TABLE `ledger_accounts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`owner_id` text NOT NULL,
	`currency` text NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "ledger_accounts_kind" CHECK("ledger_accounts"."kind" IN ('credits', 'escrow', 'cards', 'chain', 'sales', 'grants')),
	CONSTRAINT "ledger_accounts_currency" CHECK("ledger_accounts"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD')),
	CONSTRAINT "ledger_accounts_hold_what_they_owe" CHECK("ledger_accounts"."balance" >= 0 OR "ledger_accounts"."kind" NOT IN ('credits', 'escrow'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_accounts_by_name` ON `ledger_accounts` (`kind`,`owner_id`,`currency`);--> statement-breakpoint
CREATE INDEX `ledger_accounts_by_owner` ON `ledger_accounts` (`owner_id`);--> statement-breakpoint
CREATE TABLE `ledger_entries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`cause` text NOT NULL,
	`memo` text NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_cause_unique` ON `ledger_entries` (`cause`);--> statement-breakpoint
CREATE TABLE `ledger_lines` (
	`entry_id` integer NOT NULL,
	`account_id` integer NOT NULL,
	`amount` integer NOT NULL,
	`balance_after` integer NOT NULL,
	PRIMARY KEY(`entry_id`, `account_id`),
	FOREIGN KEY (`entry_id`) REFERENCES `ledger_entries`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`) REFERENCES `ledger_accounts`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `ledger_lines_by_account` ON `ledger_lines` (`account_id`,`entry_id`);--> statement-breakpoint
INSERT INTO `ledger_accounts` (`kind`, `owner_id`, `currency`, `balance`, `created_at`)
	SELECT 'credits', `id`, 'USD', `credits` * 10000, unixepoch() * 1000 FROM `users` WHERE `credits` > 0 ORDER BY `id`;--> statement-breakpoint
INSERT INTO `ledger_accounts` (`kind`, `owner_id`, `currency`, `balance`, `created_at`)
	SELECT 'grants', '', 'USD', -sum(`credits`) * 10000, unixepoch() * 1000 FROM `users` WHERE `credits` > 0 HAVING count(*) > 0;--> statement-breakpoint
INSERT INTO `ledger_entries` (`cause`, `memo`, `created_at`)
	SELECT 'opening:' || `id`, 'Credits from before the ledger', unixepoch() * 1000 FROM `users` WHERE `credits` > 0 ORDER BY `id`;--> statement-breakpoint
INSERT INTO `ledger_lines` (`entry_id`, `account_id`, `amount`, `balance_after`)
	SELECT e.`id`, a.`id`, a.`balance`, a.`balance` FROM `ledger_entries` e
	JOIN `ledger_accounts` a ON a.`kind` = 'credits' AND e.`cause` = 'opening:' || a.`owner_id`;--> statement-breakpoint
INSERT INTO `ledger_lines` (`entry_id`, `account_id`, `amount`, `balance_after`)
	SELECT e.`id`, g.`id`, -a.`balance`, -sum(a.`balance`) OVER (ORDER BY e.`id`) FROM `ledger_entries` e
	JOIN `ledger_accounts` a ON a.`kind` = 'credits' AND e.`cause` = 'opening:' || a.`owner_id`
	JOIN `ledger_accounts` g ON g.`kind` = 'grants';
