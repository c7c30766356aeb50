/// A setting with its value as text.
package struct SettingText: Sendable, Equatable {
    package let path: [String]
    package let value: String
    package let reload: Reload
    /// Whether the value is the one without a file.
    package let isDefault: Bool
}
