import JSON5
import ServerTestSupport
import TestSupport
import Testing

@testable import PushConfiguration

enum Shipped {
    /// The path of `Config/carillon.json5` in this package.
    static let path = "\(#filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined())/Config/carillon.json5"

    static func parsed() throws -> Configuration.Parsed {
        try Configuration.parse(try ConfigurationFile.read(path), file: path)
    }
}

@Suite struct ConfigurationFileTests {
    @Test func `The shipped file is valid and contains all known keys`() throws {
        let parsed = try Shipped.parsed()
        #expect(parsed.warnings.isEmpty)
        var written: Set<String> = []
        func walk(_ tree: JSONTree, _ path: [String]) {
            guard let members = tree.members else {
                written.insert(Configuration.Setting(path: path, value: "").pattern)
                return
            }
            for member in members { walk(member.value, path + [member.key]) }
        }
        walk(try JSON5Reader.read(try ConfigurationFile.read(Shipped.path)), [])
        #expect(written == Set(parsed.knownKeys))
        #expect(Set(Reload.table.keys) == Set(parsed.knownKeys))
    }

    @Test func `The values in the shipped file are the defaults`() throws {
        let shipped = try Shipped.parsed().configuration
        var expected = Configuration()
        expected.data = shipped.data
        expected.http.tls = shipped.http.tls
        expected.security = shipped.security
        expected.apps = shipped.apps
        #expect(shipped == expected)
        #expect(shipped.data.hasSuffix("/Config/data"))
        let shop = try #require(shipped.app("shop"))
        #expect(shop.gateway == Configuration.Gateway())
        let plain = try #require(try parseConfiguration("{ \(minimalApp) }").configuration.app("shop"))
        #expect(shop.broadcast == plain.broadcast && shop.endpoint == plain.endpoint)
        let feedback = try #require(shipped.app("classic")?.gateway.feedback)
        #expect(feedback == Configuration.Feedback(host: "127.0.0.1"))
    }

    @Test(arguments: [
        ("/dev/zero", "/dev/zero is larger than 4 MiB; it is not a configuration"),
        ("/", "cannot read /: Is a directory"), ("/none", "cannot read /none: there is no such file; name another"),
    ])
    func `Reading anything but a configuration file fails with the reason`(path: String, words: String) throws {
        let failure = #expect(throws: StartError.self) { try ConfigurationFile.read(path) }
        #expect(failure?.code == .configuration && failure?.description.hasPrefix(words) == true, "\(failure!)")
    }

    @Test func `The file is searched in the flag, the variable and two usual places`() throws {
        let directory = try TemporaryDirectory()
        let (first, second) = ("\(directory.path)/1", "\(directory.path)/2")
        let locate = { (flag: String?, environment: [String: String]) in
            ConfigurationFile.locate(flag: flag, environment: environment, usualPlaces: [first, second])
        }
        #expect(locate(nil, [:]) == nil)
        _ = try directory.write("2", containing: "{}")
        #expect(locate(nil, [:]) == second)
        _ = try directory.write("1", containing: "{}")
        #expect(locate(nil, [:]) == first)
        #expect(locate(nil, ["CARILLON_CONFIG": "/e"]) == "/e")
        #expect(locate(nil, ["CARILLON_CONFIG": ""]) == first)
        #expect(locate("/f", ["CARILLON_CONFIG": "/e"]) == "/f")
        let failure = ConfigurationFile.notFound(usualPlaces: [first, second])
        #expect(failure.code == .configuration)
        #expect(
            failure.description.contains(
                "neither --config FILE nor CARILLON_CONFIG is given, and there is no file \(first) or \(second)"))
    }

    @Test func `Loading a missing, unreadable or wrong file fails with the reason`() throws {
        let directory = try TemporaryDirectory()
        let missing = #expect(throws: StartError.self) {
            try Configuration.load(file: "\(directory.path)/no", environment: [:])
        }
        #expect(missing?.code == .configuration)
        #expect(missing?.description.contains("there is no such file") == true)
        let folder = #expect(throws: StartError.self) { try Configuration.load(file: directory.path, environment: [:]) }
        #expect(folder?.description.contains("cannot read") == true)
        let huge = try directory.write("huge", containing: String(repeating: " ", count: 5 << 20))
        #expect(throws: StartError.self) { try Configuration.load(file: huge, environment: [:]) }
        let wrong = try directory.write("wrong", containing: "{ a: 1,\n b: 2 }")
        let failure = #expect(throws: StartError.self) { try Configuration.load(file: wrong, environment: [:]) }
        #expect(failure?.code == .configuration)
        #expect(failure?.description.hasPrefix("the configuration has 3 faults:\n\(wrong):1:1: ") == true)
    }

    @Test func `The data directory is found in a file with other faults`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("c.json5", containing: "{ data: 'd', nonsense: true }")
        let find = { (flag: String?, file: String?, environment: [String: String]) in
            try Configuration.dataDirectory(flag: flag, file: file, environment: environment)
        }
        #expect(try find(nil, file, [:]) == "\(directory.path)/d")
        #expect(try find(nil, nil, ["CARILLON_CONFIG": file]) == "\(directory.path)/d")
        #expect(try find("/flag", file, [:]) == "/flag")
        #expect(try find(nil, nil, ["CARILLON_DATA": "/e"]) == "/e")
        #expect(try find(nil, file, ["CARILLON_DATA": "/e"]) == "/e")
        let broken = try directory.write("broken", containing: "{ data: ")
        #expect(throws: StartError.self) { try find(nil, broken, [:]) }
        let number = try directory.write("number", containing: "{ data: 5 }")
        let failure = #expect(throws: StartError.self) { try find(nil, number, [:]) }
        #expect(failure?.description.contains("data: this must be text") == true)
        let empty = try directory.write("empty", containing: "{}")
        #expect(try find(nil, empty, [:]) == "\(directory.path)/data")
    }
}
