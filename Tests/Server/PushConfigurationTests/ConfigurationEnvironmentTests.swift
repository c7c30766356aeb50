import ServerTestSupport
import Testing

@testable import PushConfiguration

@Suite struct ConfigurationEnvironmentTests {
    @Test func `A flag overrides a variable, a variable overrides the file, and the file overrides the default`() throws
    {
        let text = "{ data: 'file', \(minimalApp) }"
        let environment = ["CARILLON_DATA": "environment"]
        let flags = ["data": "flag"]
        #expect(try parseConfiguration("{ \(minimalApp) }").configuration.data == "/etc/data")
        #expect(try parseConfiguration(text).configuration.data == "/etc/file")
        #expect(try parseConfiguration(text, environment: environment).configuration.data == "environment")
        #expect(try parseConfiguration(text, environment: environment, flags: flags).configuration.data == "flag")
        #expect(try parseConfiguration(text, environment: ["CARILLON_DATA": ""]).configuration.data == "/etc/file")
    }

    static let values: [(String, String, String, String)] = [
        ("CARILLON_INTAKE_ROUTER", "ipc://r", "intake.router", "ipc://r"),
        ("CARILLON_EVENTS_RETENTION_SIZE", "2GiB", "events.retention.size", "2GiB"),
        ("CARILLON_SECURITY_INSECURE", "true", "security.insecure", "true"),
        ("CARILLON_DEDUPE_WINDOW", "2d", "dedupe.window", "2d"),
        ("CARILLON_INTAKE_EXPIRE_AFTER", "2d", "intake.expire_after", "2d"),
        ("CARILLON_LOG_LEVEL", "debug", "log.level", "debug"),
        ("CARILLON_APPS_SHOP_EU_1_GATEWAY_CONNECTIONS_MAX", "7", "apps.shop-eu.1.gateway.connections.max", "7"),
        (
            "CARILLON_APPS_SHOP_EU_1_ENDPOINT_HOST", "API.push.apple.com", "apps.shop-eu.1.endpoint.host",
            "API.push.apple.com"
        ),
        (
            "CARILLON_SECURITY_CLIENTS_ORDERS_PUSH", "shop-eu.1, shop-eu.1", "security.clients.orders.push",
            "shop-eu.1,shop-eu.1"
        ),
    ]

    @Test(arguments: values)
    func `A variable sets the setting that it is named after`(
        _ name: String, _ words: String, _ path: String, _ value: String
    ) throws {
        let text = """
            { \(minimalApp.replacing("shop: {", with: "'shop-eu.1': {")), security: { curve: { secret_key_file: "s" },
              clients: { orders: { public_key: "\(ConfigurationFaultTests.z85)", push: [] } } } }
            """
        #expect(try parseConfiguration(text, environment: [name: words]).configuration[path] == value)
    }

    @Test func `A section from a variable must be complete`() {
        let all = configurationFaults("{ \(minimalApp) }", environment: ["CARILLON_APPS_SHOP_ENDPOINT_PORT": "2197"])
        #expect(all.map(\.path) == ["apps.shop.endpoint"])
        #expect(all.first?.problem.hasPrefix("host is missing") == true)
    }

    @Test func `A fault in a variable or flag names the variable or flag`() {
        let all = configurationFaults(
            "{ \(minimalApp) }",
            environment: [
                "CARILLON_APPS_SHOP_GATEWAY_CONNECTIONS_MIN": "many", "CARILLON_SECURITY_INSECURE": "yes",
                "CARILLON_DEDUPE_WINDOW": "7",
            ], flags: ["data": "~"])
        #expect(
            all.map { "\($0)".prefix { $0 != ";" } } == [
                "environment variable CARILLON_APPS_SHOP_GATEWAY_CONNECTIONS_MIN: apps.shop.gateway.connections.min: this must be a whole number from 1 to 1000, not \"many\"",
                "environment variable CARILLON_DEDUPE_WINDOW: dedupe.window: \"7\" is not a duration",
                "environment variable CARILLON_SECURITY_INSECURE: security.insecure: this must be true or false, not \"yes\"",
                "--data: data: \"~\" is not expanded here",
            ])
    }

    @Test func `A wrong element of a list in a variable is reported with its index`() {
        let text = """
            { \(minimalApp), security: { curve: { secret_key_file: "s" },
              clients: { orders: { public_key: "\(ConfigurationFaultTests.z85)" } } } }
            """
        let all = configurationFaults(text, environment: ["CARILLON_SECURITY_CLIENTS_ORDERS_PUSH": "shop,shpo"])
        #expect(
            all.map(\.description) == [
                "environment variable CARILLON_SECURITY_CLIENTS_ORDERS_PUSH: security.clients.orders.push[1]: there is no app \"shpo\"; did you mean \"shop\"?"
            ])
    }

    @Test func `A variable whose name fits two apps is rejected if it is set`() throws {
        let app = { (id: String, topic: String) in
            "'\(id)': { topic: '\(topic)', environment: 'sandbox', credential: { certificate: 'c' } }"
        }
        let text = "{ apps: { \(app("shop-eu", "a")), \(app("shop_eu", "b")) } }"
        #expect(configurationFaults(text).isEmpty)
        let all = configurationFaults(text, environment: ["CARILLON_APPS_SHOP_EU_TOPIC": "x"])
        #expect(
            all.contains { $0.problem == "this variable would also mean apps.shop-eu.topic; set both in the file" },
            "\(all)")
    }

    @Test func `A variable that resembles a setting but is not one causes a warning`() throws {
        let warnings = try parseConfiguration(
            "{ \(minimalApp) }",
            environment: [
                "CARILLON_CONFIG": "x", "CARILLON_LOG_LEVLE": "info", "CARILLON_LOG_COLORS_OF_THE_RAINBOW": "all",
                "CARILLON_APPS_NEWS_GATEWAY_CONNECTIONS_MAX": "3", "CARILLON_SERVICE_HOST": "10.0.0.1",
                "CARILLON_PORT": "tcp://10.0.0.1:80", "CARILLON_PORT_80_TCP_ADDR": "10.0.0.1", "PATH": "/bin",
            ]
        ).warnings
        #expect(
            warnings.map(\.description) == [
                "environment variable CARILLON_APPS_NEWS_GATEWAY_CONNECTIONS_MAX: there is no such setting; it is ignored",
                "environment variable CARILLON_LOG_COLORS_OF_THE_RAINBOW: there is no such setting; it is ignored",
                "environment variable CARILLON_LOG_LEVLE: there is no such setting; did you mean CARILLON_LOG_LEVEL?",
            ])
    }
}
