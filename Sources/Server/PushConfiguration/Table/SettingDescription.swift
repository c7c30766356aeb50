/// One line of the settings table, for documentation that is made from it.
package struct SettingDescription: Sendable {
    /// The path with dots, with `*` for the names of apps and clients: `apps.*.gateway.idle`.
    package let path: String
    package let documentation: String
    /// The least and the greatest value; nil if the setting is not an amount.
    package let bounds: String?
    /// The value as JSON5 if the file does not have the setting; nil if it then has no value.
    package let defaultValue: String?
    package let reload: Reload

    /// All settings in the order of the file.
    package static let all: [SettingDescription] =
        list(ConfigurationDraft.settings, default: ConfigurationDraft(Configuration()), below: "")
        + list(ClientDraft.settings, default: ClientDraft(), below: "security.clients.*.")
        + list(AppDraft.settings, default: AppDraft(), below: "apps.*.")
        + list(WebhookDraft.settings, default: WebhookDraft(), below: "webhooks.*.")

    /// The objects that group settings, with their documentation.
    package static let blocks: [(path: String, documentation: String)] = SettingBlock.all.map {
        ($0.path.joined(separator: "."), $0.documentation)
    }

    private static func list<Owner>(
        _ settings: [Setting<Owner>], default usual: Owner, below prefix: String
    ) -> [SettingDescription] {
        settings.map { setting in
            SettingDescription(
                path: prefix + setting.path.joined(separator: "."), documentation: setting.documentation,
                bounds: setting.bounds, defaultValue: setting.literal(usual), reload: setting.reload)
        }
    }
}
