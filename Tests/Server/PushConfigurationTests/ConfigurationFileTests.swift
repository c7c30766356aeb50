import APNs
import FoundationEssentials
import JSON5
import PushModel
import ServerTestSupport
import TestSupport
import Testing

@testable import PushConfiguration

enum Shipped {
    /// The directory of this package.
    static let package = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
    static let path = "\(package)/Config/carillon.json5"

    static func parsed() throws -> Configuration.Parsed {
        try Configuration.parse(try ConfigurationFile.read(path), file: path)
    }
}

@Suite struct ConfigurationFileTests {
    @Test func `The shipped file is the reference that the tables print`() throws {
        let shipped = String(decoding: try ConfigurationFile.read(Shipped.path), as: UTF8.self)
        guard shipped != ConfigurationReference.text else { return }
        let path = "\(Shipped.package)/.build/carillon.json5"
        try Data(ConfigurationReference.text.utf8).write(to: URL(filePath: path))
        Issue.record("the tables print another text: compare it, then run cp \(path) \(Shipped.path)")
    }

    @Test func `The shipped file is valid and contains all settings`() throws {
        #expect(try Shipped.parsed().warnings.isEmpty)
        var written: Set<[String]> = []
        func walk(_ tree: JSONTree, at path: [String]) {
            guard let members = tree.members else {
                written.insert(path)
                return
            }
            let holdsNames = [["apps"], ["families"], ["webhooks"], ["security", "clients"]].contains(path)
            for member in members { walk(member.value, at: path + [holdsNames ? "*" : member.key]) }
        }
        walk(try JSON5Reader.read(try ConfigurationFile.read(Shipped.path)), at: [])
        #expect(written == Set(Configuration.settingPaths))
    }

    @Test func `The example of a cluster is valid`() throws {
        let path = "\(Shipped.package)/Config/cluster/carillon.json5"
        let parsed = try Configuration.parse(try ConfigurationFile.read(path), file: path)
        #expect(parsed.warnings.isEmpty)
        #expect(parsed.configuration.cluster?.node == NodeID("a"))
        #expect(parsed.configuration.store?.options.hosts.count == 3)
    }

    @Test func `Every setting is read from the file, and its path is its own`() throws {
        let paths = Configuration.settingPaths
        #expect(Set(paths).count == paths.count)
        // A value of a wrong kind is a fault of every setting that is read.
        for path in paths {
            let names = path.map { $0 == "*" ? "shop" : $0 }
            let text = names.map { "{ \"\($0)\": " }.joined() + "null" + names.map { _ in " }" }.joined()
            let faults = configurationFaults(text)
            #expect(
                faults.contains { $0.path == names.joined(separator: ".") && $0.problem.hasPrefix("null") }, "\(path)")
        }
    }

    @Test func `The values in the shipped file are the defaults`() throws {
        let shipped = try Shipped.parsed().configuration
        var expected = Configuration()
        expected.data = shipped.data
        expected.http.tls = shipped.http.tls
        expected.http.legacyRegistration = shipped.http.legacyRegistration
        expected.doors.gorush = Configuration.Doors.Gorush(ios: AppID("shop"), android: AppID("android"))
        expected.security = shipped.security
        expected.store = shipped.store
        expected.cluster = shipped.cluster
        expected.apps = shipped.apps
        expected.families = shipped.families
        expected.webhooks = shipped.webhooks
        expected.receipts.roots = shipped.receipts.roots
        expected.receipts.sharedSecretFile = shipped.receipts.sharedSecretFile
        #expect(shipped == expected)
        #expect(shipped.data.hasSuffix("/Config/data"))
        let shop = try #require(shipped.app("shop"))
        #expect(shop.gateway == Configuration.Gateway())
        let plain = try #require(try parseConfiguration("{ \(minimalApp) }").configuration.app("shop"))
        #expect(shop.apns?.broadcast == plain.apns?.broadcast && shop.endpoint == plain.endpoint)
        let feedback = try #require(shipped.app("classic")?.apns?.feedback)
        #expect(feedback == FeedbackSettings(host: "127.0.0.1"))
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
            ConfigurationFile.locate(flag: flag, environment: environment, defaultPaths: [first, second])
        }
        #expect(locate(nil, [:]) == nil)
        _ = try directory.write("2", containing: "{}")
        #expect(locate(nil, [:]) == second)
        _ = try directory.write("1", containing: "{}")
        #expect(locate(nil, [:]) == first)
        #expect(locate(nil, ["CARILLON_CONFIG": "/e"]) == "/e")
        #expect(locate(nil, ["CARILLON_CONFIG": ""]) == first)
        #expect(locate("/f", ["CARILLON_CONFIG": "/e"]) == "/f")
        let failure = ConfigurationFile.notFound(defaultPaths: [first, second])
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
        let unread = #expect(throws: StartError.self) { try find(nil, broken, [:]) }
        #expect(unread?.code == .configuration)
        #expect(unread?.description.contains("or name the directory with --data DIR") == true)
        let number = try directory.write("number", containing: "{ data: 5 }")
        let failure = #expect(throws: StartError.self) { try find(nil, number, [:]) }
        #expect(failure?.description.contains("data: this must be text") == true)
        let empty = try directory.write("empty", containing: "{}")
        #expect(try find(nil, empty, [:]) == "\(directory.path)/data")
    }
}
