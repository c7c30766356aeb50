import PushAPI
import PushText
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon scale` as a process, with a control server in the test process.
@Suite(.waits) struct ScaleVerbTests {
    private func scale(_ arguments: String..., environment: [String] = []) async throws -> ChildProcess.Ended {
        let clean = ["-u", "CARILLON_CONFIG", "-u", "CARILLON_DATA"]
        return try await ChildProcess.run(
            "env", clean + environment + [ChildProcess.carillon, "scale"] + arguments)
    }

    @Test func `All gateways are shown`() async throws {
        try await withControl { control in
            let ended = try await scale("--data", control.data)
            #expect(ended.errors == "")
            #expect(
                ended.output == """
                    news (sandbox): connecting, 1 connection, 0 queued, room for 0
                      no connections

                    shop (production): up, 1 to 4 connections, 17 queued, room for 983
                      id  state     address         age    streams  in flight  waiting  answered  oldest  ping   goaway
                      3   open      17.188.1.2:443  2h 3m  1000     12         1        123456    46ms    1.2ms  -
                      4   draining  -               0s     -        0          0        0         -       -      Shutdown?[31m

                    """)
            #expect(ended.status == 0)
        }
    }

    @Test func `A gateway of a push service without environments has none, in text and in JSON`() {
        let gateway = GatewayAnswer(
            app: "web", environment: nil, state: "up", scale: .init(1...1), queue: 0, credit: 5, connections: [])
        let text = GatewayTable(Terminal(descriptor: -1)).text([gateway])
        #expect(text.hasPrefix("web: up, 1 connection, 0 queued, room for 5\n"), "\(text)")
        #expect(!String(decoding: APIAnswer.json(gateway).body, as: UTF8.self).contains("environment"))
    }

    @Test func `A gateway is scaled, and the new scale is shown`() async throws {
        try await withControl { control in
            let ended = try await scale("shop", "--connections", "2..8", "--data", control.data)
            #expect(ended.output.hasPrefix("shop (production): up, now 2 to 8 connections, 17 queued"))
            #expect(ended.status == 0)
            let one = try await scale("--connections=4", "shop", "--data", control.data, "--json")
            #expect(one.output.contains("\"app\":\"shop\"") && one.output.contains("\"scale\":{\"max\":4,\"min\":4}"))
            #expect(one.output.split(separator: "\n").count == 1)
            #expect(control.gateways.scaled == ["shop 2...8", "shop 4...4"])
            let all = try await scale("--json", "--data", control.data)
            #expect(all.output.hasPrefix("{\"gateways\":[{\"app\":\"news\""))
            let shop = try await scale("shop", "--data", control.data)
            #expect(shop.output.hasPrefix("shop (production): up, 4 connections, 17 queued"))
        }
    }

    @Test func `The control socket is found by configuration and environment`() async throws {
        try await withControl { control in
            let file = try control.directory.write("carillon.json5", containing: "{ data: 'data' }")
            #expect(try await scale("news", "--config", file).status == 0)
            #expect(try await scale("news", environment: ["CARILLON_CONFIG=\(file)"]).status == 0)
            #expect(try await scale("news", environment: ["CARILLON_DATA=\(control.data)"]).status == 0)
            let here = try await ChildProcess.run(
                ChildProcess.carillon, ["scale", "news"], directory: control.directory.path)
            #expect(here.status == 0)
        }
    }

    static let wrong: [([String], Int32, String)] = [
        (["--connections", "2..8"], 64, "'--connections' needs an app: carillon scale shop --connections 2..8"),
        (["shop", "--connections", "8..2"], 64, "the first number must not be larger than the second"),
        (
            ["shop", "--connections", "x"], 64,
            "'--connections' must be a range such as 2..8, or a number, from 1 to 1000, not 'x'"
        ),
        (["shop", "news"], 64, "unexpected argument 'news'"), (["-x"], 64, "'-x' is not an option"),
        (["a/b"], 64, "'a/b' is not an app id"), (["--connection", "2"], 64, "did you mean '--connections'?"),
        (["nobody"], 65, "there is no app \"nobody\""),
        (["nobody", "--connections", "1"], 65, "there is no app \"nobody\""),
    ]

    @Test func `Usage errors have an explanation and an exit code`() async throws {
        try await withControl { control in
            for (arguments, status, message) in Self.wrong {
                let words = [ChildProcess.carillon, "scale"] + arguments + ["--data", control.data]
                let ended = try await ChildProcess.run("env", words)
                #expect(ended.status == status, "\(arguments)")
                #expect(ended.errors.hasPrefix("carillon scale: ") && ended.errors.contains(message), "\(ended.errors)")
                #expect(ended.output == "")
            }
            #expect(control.gateways.scaled.isEmpty)
        }
    }

    @Test func `A missing Carillon and a missing configuration are reported`() async throws {
        let directory = try TemporaryDirectory()
        let nobody = try await scale("--data", directory.path)
        #expect(nobody.status == 69)
        #expect(nobody.errors.contains("no Carillon is running on the data directory \(directory.path)"))
        let missing = try await scale("--config", "\(directory.path)/no")
        #expect(missing.status == 78)
        let broken = try await scale("--config", try directory.write("c.json5", containing: "{ data: "))
        #expect(broken.status == 78)
        #expect(broken.errors.contains("c.json5:1:9: this is not JSON5: a value is missing"))
    }

    @Test(arguments: ["1", "4", "1..1", "2..8", "1..1000"]) func `Valid ranges are parsed`(_ text: String) throws {
        let range = try ScaleVerb.connections(text)
        #expect(text == "\(range.lowerBound)" || text == "\(range.lowerBound)..\(range.upperBound)")
    }

    @Test(arguments: [
        "", "0", "..", "1..", "..1", "1..2..3", "1...2", "-1", "+1", "1001", "0..4", "a..b", "99999999999999999999",
        "٣",
    ])
    func `Invalid ranges are rejected`(_ text: String) {
        let failure = #expect(throws: Failure.self) { try ScaleVerb.connections(text) }
        #expect(failure?.code == .usage)
    }

    @Test(
        arguments: [
            (0, "0s"), (59, "59s"), (60, "1m"), (61, "1m 1s"), (3600, "1h"), (7384, "2h 3m"), (86_400, "1d"),
            (180_000, "2d 2h"),
            (-5, "0s"),
        ] as [(Int64, String)])
    func `Ages are formatted with two units`(_ seconds: Int64, _ text: String) {
        #expect(DurationText.age(seconds) == text)
    }

    @Test(arguments: [
        (0.04, "0.0ms"), (0.75, "0.8ms"), (9.9, "9.9ms"), (12.4, "12ms"), (9999, "9999ms"), (12_900, "12s"),
        (1e300, "1000000000000000s"),
    ])
    func `Response times are formatted`(_ milliseconds: Double, _ text: String) {
        #expect(PlainText.milliseconds(milliseconds) == text)
    }
}
