import PushModel
import ServerTestSupport
import Testing

@testable import PushConfiguration

/// Families of apps.
@Suite struct ConfigurationFamilyTests {
    private static let apps = """
        apps: { ios: { topic: "com.example.a", environment: "production", credential: { certificate: "a.p12" } },
                android: { service: "fcm", credential: { service_account: "firebase.json" } } }
        """

    private static func text(_ families: String) -> String { "{ \(apps), families: \(families) }" }

    @Test func `A family has its members in the order of the file`() throws {
        let configuration = try parseConfiguration(
            Self.text("{ shop: [\"ios\", \"android\"], \"all.of-us\": [\"android\"] }")
        ).configuration
        let names = configuration.families.map { [$0.name.name] + $0.members.map(\.name) }
        #expect(names == [["all.of-us", "android"], ["shop", "ios", "android"]])
        #expect(configuration.settings.contains { $0.path == ["families", "shop"] && $0.value == "ios,android" })
        #expect(configuration.apps.map(\.serviceName) == ["fcm", "apns"])
    }

    @Test(
        arguments: [
            ("{ ios: [\"android\"] }", "families.ios", "is the name of an app"),
            ("{ shop: [] }", "families.shop", "has no member"),
            ("{ shop: [\"ios\", \"web\"] }", "families.shop[1]", "there is no app \"web\""),
            ("{ shop: [\"ios\", \"ios\"] }", "families.shop[1]", "is named twice"),
            ("{ \"a b\": [\"ios\"] }", "families.a b", "name has 1 to 64"),
            ("{ shop: { a: 1 } }", "families.shop", "must be a list of strings"),
            ("[]", "families", "must be an object"),
        ])
    func `A fault names its place`(families: String, path: String, text: String) throws {
        let faults = configurationFaults(Self.text(families))
        let fault = try #require(faults.first)
        #expect(faults.count == 1 && fault.path == path && fault.problem.contains(text), "\(faults)")
    }

    @Test func `A family has a largest number of members`() throws {
        let names = (0..<17).map { "app-\($0)" }
        let apps = names.map {
            "\"\($0)\": { topic: \"com.example.\($0)\", environment: \"production\", credential: { certificate: \"a\" } }"
        }.joined(separator: ",")
        func text(_ count: Int) -> String {
            "{ apps: { \(apps) }, families: { shop: [\(names.prefix(count).map { "\"\($0)\"" }.joined(separator: ","))] } }"
        }
        #expect(try parseConfiguration(text(16)).configuration.families.map(\.members.count) == [16])
        #expect(configurationFaults(text(17)).map(\.path) == ["families.shop"])
    }

    @Test func `A reload adds, changes and removes families at once`() throws {
        func parse(_ families: String) throws -> Configuration {
            try parseConfiguration(Self.text(families)).configuration
        }
        let old = try parse("{ shop: [\"ios\", \"android\"], gone: [\"ios\"] }")
        let new = try parse("{ shop: [\"ios\"], new: [\"android\"] }")
        let changes = old.changes(to: new)
        #expect(Set(changes.map(\.path)) == ["families.shop", "families.gone", "families.new"])
        #expect(changes.allSatisfy { $0.reload == .live })
        #expect(old.reloaded(to: new).families == new.families)
    }
}
