@testable import carillon

/// The least that an app needs, as part of a file.
let minimalApp = """
    apps: { shop: { topic: "com.example.shop", environment: "production",
      credential: { key: "AuthKey_ABC123DEFG.p8", key_id: "ABC123DEFG", team_id: "DEF123GHIJ" } } }
    """

func parseConfiguration(
    _ text: String, file: String = "/etc/c.json5", environment: [String: String] = [:], flags: [String: String] = [:]
) throws(ConfigurationError) -> Configuration.Parsed {
    try Configuration.parse(Array(text.utf8), file: file, environment: environment, flags: flags)
}

/// What is wrong with a text; empty if nothing is.
func configurationFaults(
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
    /// A value as text, by its path.
    subscript(path: String) -> String? {
        settings.first { $0.path.joined(separator: ".") == path }?.value
    }
}
