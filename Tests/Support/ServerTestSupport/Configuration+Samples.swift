package import PushConfiguration

/// The part of a configuration with an app that has only the required settings.
package let minimalApp = """
    apps: { shop: { topic: "com.example.shop", environment: "production",
      credential: { key: "AuthKey_ABC123DEFG.p8", key_id: "ABC123DEFG", team_id: "DEF123GHIJ" } } }
    """

package func parseConfiguration(
    _ text: String, file: String = "/etc/c.json5", environment: [String: String] = [:], flags: [String: String] = [:]
) throws(ConfigurationError) -> Configuration.Parsed {
    try Configuration.parse(Array(text.utf8), file: file, environment: environment, flags: flags)
}

/// Returns the faults of a configuration.
package func configurationFaults(
    _ text: String, environment: [String: String] = [:], flags: [String: String] = [:]
) -> [ConfigurationFault] {
    do {
        _ = try parseConfiguration(text, environment: environment, flags: flags)
        return []
    } catch {
        return error.faults
    }
}

extension Configuration {
    /// The value of the setting with this path, as text.
    package subscript(path: String) -> String? {
        settings.first { $0.path.joined(separator: ".") == path }?.value
    }
}
