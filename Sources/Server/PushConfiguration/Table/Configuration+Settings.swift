extension Configuration {
    /// All settings as text, in the order of the file. None of them is secret; secrets are in the files that they name.
    package var settings: [SettingText] {
        ConfigurationDraft.settings.texts(of: ConfigurationDraft(self), beside: ConfigurationDraft(Configuration()))
            + security.clients.flatMap { client in
                ClientDraft.settings.texts(
                    of: ClientDraft(client), beside: ClientDraft(), below: ["security", "clients", client.name])
            }
            + apps.flatMap { app in
                AppDraft.settings.texts(of: AppDraft(app), beside: AppDraft(), below: ["apps", app.id.name])
            }
            + families.flatMap { family in
                FamilyDraft.settings(named: family.name.name).texts(
                    of: FamilyDraft(family), beside: FamilyDraft(), below: ["families"])
            }
            + webhooks.flatMap { webhook in
                WebhookDraft.settings.texts(
                    of: WebhookDraft(webhook), beside: WebhookDraft(), below: ["webhooks", webhook.name])
            }
    }

    /// The paths of all settings, with `*` for the names of apps, families, webhooks and clients.
    package static let settingPaths: [[String]] =
        ConfigurationDraft.settings.map(\.path) + ClientDraft.settings.map { ["security", "clients", "*"] + $0.path }
        + AppDraft.settings.map { ["apps", "*"] + $0.path } + [["families", "*"]]
        + WebhookDraft.settings.map { ["webhooks", "*"] + $0.path }
}
