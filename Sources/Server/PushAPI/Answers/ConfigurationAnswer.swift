package import PushConfiguration

/// The configuration in force, and what in the file differs from it. Secrets are not settings: they are in the files
/// that settings name.
package struct ConfigurationAnswer: JSONAnswer, Equatable {
    package struct Setting: Codable, Sendable, Equatable {
        package var path: String
        package var value: String
        /// The time at which a change takes effect: `live`, `connection` or `restart`.
        package var applies: String
        /// Whether the value is the default.
        package var `default`: Bool

        package init(_ setting: SettingText) {
            path = setting.path.joined(separator: ".")
            value = setting.value
            applies = setting.reload.word
            `default` = setting.isDefault
        }
    }

    /// A setting whose value in the file is not the one in force.
    package struct Change: Codable, Sendable, Equatable {
        package var path: String
        /// The value in force; left out if the setting is new.
        package var was: String?
        /// The value in the file; left out if the setting was removed.
        package var now: String?
        package var applies: String

        package init(_ change: ConfigurationChange) {
            (path, was, now) = (change.path, change.was, change.now)
            applies = change.reload.word
        }
    }

    package var file: String
    package var settings: [Setting]
    package var differences: [Change]
    /// The reasons why the file cannot be loaded now.
    package var faults: [String]

    package init(file: String, settings: [Setting], differences: [Change], faults: [String]) {
        (self.file, self.settings, self.differences, self.faults) = (file, settings, differences, faults)
    }
}

/// The effect of a reload.
package struct ReloadAnswer: JSONAnswer, Equatable {
    /// Whether the file was loaded. If not, the configuration in force is unchanged.
    package var reloaded: Bool
    package var changed: [ConfigurationAnswer.Change]
    /// The changes that take effect after a restart.
    package var needsRestart: [ConfigurationAnswer.Change]
    /// The reasons why the file was not loaded.
    package var refused: [String]
    package var warnings: [String]

    package static var about: [String: String] {
        [
            "reloaded": "Whether the file was loaded. If not, the configuration in force is unchanged.",
            "changed": "The changes that apply now, or to connections that are opened from now on.",
            "needs_restart": "The changes that take effect after a restart.",
            "refused": "The reasons why the file was not loaded.",
        ]
    }

    package enum CodingKeys: String, CodingKey {
        case reloaded, changed, refused, warnings
        case needsRestart = "needs_restart"
    }

    package init(changes: [ConfigurationChange], warnings: [String]) {
        reloaded = true
        changed = changes.filter { $0.reload != .restart }.map { ConfigurationAnswer.Change($0) }
        needsRestart = changes.filter { $0.reload == .restart }.map { ConfigurationAnswer.Change($0) }
        refused = []
        self.warnings = warnings
    }

    package init(refused: [String]) {
        reloaded = false
        (changed, needsRestart, warnings) = ([], [], [])
        self.refused = refused
    }
}

extension Reload {
    fileprivate var word: String {
        switch self {
        case .live: "live"
        case .perConnection: "connection"
        case .restart: "restart"
        }
    }
}
