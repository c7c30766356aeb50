import FoundationEssentials
import Glibc
import PushModel
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon devices` as a process, with a control server in the test process.
@Suite(.waits) struct DevicesVerbTests {
    private static let token = PipelineScene.token(1).hex
    private static let id = PipelineScene.id(1).description

    @Test func `An empty filter exports nothing`() async throws {
        try await withPipeline { scene in
            _ = try await scene.run("devices", "add", "shop", Self.token, "--user", "ada")
            for filter in ["--user", "--app", "--tag"] {
                let export = try await scene.run("devices", "export", filter, "")
                #expect(export.status == 64 && export.output.isEmpty, "\(export.output)")
                #expect(export.errors.contains("the value of '\(filter)' is empty"))
            }
            for path in ["/v1/export/devices?user=", "/v1/devices?user=", "/v1/messages?user=", "/v1/events?prefix="] {
                let answer = try await scene.control.client.send("GET", to: path)
                #expect(answer.status == 422, "\(path)")
                #expect(String(decoding: answer.body, as: UTF8.self).contains("\"code\":\"too_short\""))
            }
        }
    }

    @Test func `Devices that were deactivated for one reason are reactivated together`() async throws {
        try await withPipeline { scene in
            let ids = (1...3).map { PipelineScene.id($0).description }
            for number in UInt8(1)...3 {
                _ = try await scene.run("devices", "add", "shop", PipelineScene.token(number).hex)
            }
            _ = try await scene.run("devices", "deactivate", ids[0], ids[1], "--reason", "BadDeviceToken")
            _ = try await scene.run("devices", "deactivate", ids[2], "--reason", "Unregistered")
            let words = ["devices", "reactivate", "--app", "shop", "--reason", "BadDeviceToken", "--since"]
            let later = try await scene.run(words + ["2040-01-01", "--dry-run"])
            #expect(later.output == "0 devices would be active again; without --dry-run they are.\n")
            let tried = try await scene.run(words + ["2020-01-01", "--dry-run"])
            #expect(tried.output == "2 devices would be active again; without --dry-run they are.\n")
            #expect(try await scene.run(words + ["2020-01-01"]).output == "2 devices of 2 are active again.\n")
            let left = try await scene.run("devices", "list", "--inactive", "--json")
            #expect(left.output.contains(ids[2]) && !left.output.contains(ids[0]), "\(left.output)")
            #expect(try await scene.run("devices", "reactivate", "--app", "shop").status == 64)
        }
    }

    @Test func `A device is added, shown, listed, deactivated and reactivated`() async throws {
        try await withPipeline { scene in
            let add = ["devices", "add", "shop", Self.token, "--user", "ada", "--tag", "b", "--tag", "a"]
            let added = try await scene.run(add)
            #expect(added.output == "The device \(Self.id) of shop was registered.\n" && added.status == 0)
            #expect(scene.devices.registered[0][0].tags == ["a", "b"])
            for words in [[Self.id], ["shop", "<\(Self.token.uppercased())>"]] {
                let shown = try await scene.run(["devices", "show"] + words)
                #expect(
                    shown.output == """
                          device       \(Self.id)
                          app          shop
                          state        active
                          user         ada
                          tags         a, b
                          locale       -
                          platform     -
                          app version  -
                          registered   2026-01-01T00:00:00.000Z
                          last seen    2026-01-01T00:00:00.000Z

                        """)
                // Other users of the machine can see the arguments of a command.
                let caution = TokenOptions.caution(about: "TOKEN", option: "token-file")
                #expect(shown.status == 0 && shown.errors == (words.count == 1 ? "" : "carillon: \(caution)\n"))
            }
            let ended = try await scene.run("devices", "deactivate", Self.id, Self.id, "--reason", "Unregistered")
            #expect(ended.output == "\(Self.id) was deactivated\n\(Self.id) was already inactive\n")
            let gone = try await scene.run("devices", "show", Self.id)
            #expect(
                gone.output.contains(
                    "because      the push service answered Unregistered: the device no longer takes notifications"))
            let list = try await scene.run("devices", "list", "--inactive")
            #expect(
                list.output == """
                      device                            app   state     user  platform  last seen                 tags
                      \(Self.id)  shop  inactive  ada   -         2026-01-01T00:00:00.000Z  a, b

                    """)
            #expect(try await scene.run("devices", "list", "--active").output == "There are no matching devices.\n")
            let again = try await scene.run(add + ["--json"])
            #expect(again.output == "{\"change\":\"reactivated\",\"device\":\"\(Self.id)\"}\n")
            for output in [added.output, list.output, again.output] { #expect(!output.contains(Self.token)) }
        }
    }

    @Test func `Tokens can be read from files and from standard input`() async throws {
        try await withPipeline { scene in
            let directory = try TemporaryDirectory()
            let file = try directory.write("token.txt", containing: "\n<\(Self.token)>\n")
            let old = try directory.write("old.txt", containing: PipelineScene.token(2).hex)
            let added = try await scene.run(
                "devices", "add", "shop", "--token-file", file, "--replaces-file", old)
            #expect(added.status == 0 && added.errors == "", "\(added.errors)")
            #expect(added.output == "The device \(Self.id) of shop was registered.\n")
            let shown = try await ChildProcess.run(
                "sh",
                [
                    "-c", "\"$0\" devices show shop --token-file - --data \"$1\" < \"$2\"", ChildProcess.carillon,
                    scene.control.data, file,
                ])
            #expect(shown.output.contains(Self.id) && shown.errors == "", "\(shown)")
            let wrong: [([String], Int32, String)] = [
                (
                    ["add", "shop", Self.token, "--token-file", file], 64,
                    "TOKEN cannot be combined with '--token-file'"
                ),
                (["add", "shop", "--token-file", "-", "--replaces-file", "-"], 64, "standard input is read once"),
                (["add", "shop", "--token-file", directory.path + "/absent"], 65, "cannot read '--token-file'"),
                (["show", "shop", "--token-file", "/dev/null"], 65, "has 0 lines; it must contain one token"),
            ]
            for (words, status, text) in wrong {
                let ended = try await scene.run(["devices"] + words)
                #expect(ended.status == status && ended.errors.contains(text), "\(words): \(ended.errors)")
            }
        }
    }

    @Test func `A list is requested in pages and stops at its limit`() async throws {
        try await withPipeline { scene in
            scene.fill(2500)
            let all = try await scene.run("devices", "list", "--limit", "5000", "--json")
            #expect(Set(all.output.split(separator: "\n")).count == 2500)
            let some = try await scene.run("devices", "list", "--limit", "1200")
            // The output has a heading, and a note that there are more devices.
            #expect(some.output.split(separator: "\n").count >= 1202)
            #expect(some.output.hasSuffix("There are more than 1200; raise --limit.\n"))
        }
    }

    @Test func `A file is imported in batches, and only invalid lines are rejected`() async throws {
        try await withPipeline { scene in
            var text = "token,user,tags\r\n"
            for number in 0..<2500 {
                let token = Address(words: (0, 0, 0, UInt64(number + 1))).hex
                text += number == 1700 ? "bad,\r\n" : number == 2000 ? "zz,a,b\r\n" : "\(token),u\(number),a;b\r\n"
            }
            let file = try scene.control.directory.write("devices.csv", containing: text)
            let trial = try await scene.run("devices", "import", file, "--app", "shop", "--dry-run")
            #expect(
                trial.output
                    == "Nothing was registered. The result would be: 2498 new, 0 known, 0 reactivated, 2 rejected\n")
            #expect(scene.devices.count == 0)
            let ended = try await scene.run("devices", "import", file, "--app", "shop")
            #expect(ended.output == "Imported: 2498 new, 0 known, 0 reactivated, 2 rejected\n")
            #expect(
                ended.errors == """
                    line 1702: rejected: 2 fields, but the heading has 3
                    line 2002: rejected: token is not a device token: it is neither hexadecimal nor base64; paste the token as the app or the device's log shows it

                    """)
            #expect(ended.status == 65)
            #expect(scene.devices.registered.map(\.count) == [1000, 999, 499])
            let again = try await scene.run("devices", "import", file, "--app", "shop", "--json")
            #expect(again.output.contains("\"counts\":{\"inactive\":0,\"known\":2498,\"new\":0,\"reactivated\":0"))
            #expect(again.output.contains("{\"line\":1702,\"reason\":\"2 fields, but the heading has 3\"}"))
        }
    }

    @Test func `The server checks each line, and the others are imported`() async throws {
        try await withPipeline { scene in
            let token = Self.token
            let rows = [
                "abc,,,shop,", "\(token),,,a/b,", ",ada,,shop,",
                "\(token),,\(String(repeating: "x", count: 129)),shop,",
                "\(token),,\((0..<65).map { "t\($0)" }.joined(separator: ";")),shop,", "\(token),a\u{7},,shop,",
                "\(token),,,shop,\(token)", "zzzz,,,shop,", "<\(token)>,,,shop,",
                "\(token),team\\..,,shop,",
            ]
            let text = "token,user,tags,app,replaces\n" + rows.joined(separator: "\n") + "\n"
            let ended = try await scene.run(
                "devices", "import", try scene.control.directory.write("devices.csv", containing: text))
            let faults = ended.errors.split(separator: "\n")
            let expected = [
                "line 2: rejected: token is not a device token: it has an odd number of hexadecimal digits (3)",
                "line 3: rejected: app is not an app id", "line 4: rejected: token is missing",
                "line 5: rejected: a tag has 129 bytes; 1 to 128",
                "line 6: rejected: there are 65 tags; a device has at most 64",
                "line 7: rejected: user contains a control character", "line 8: rejected: replaces is the same token",
                "line 9: rejected: token is not a device token: it has 3 bytes; a device token has 32 or more",
                "line 11: rejected: user has a step . or .. of a path",
            ]
            #expect(faults.count == expected.count)
            for (fault, beginning) in zip(faults, expected) { #expect(fault.hasPrefix(beginning), "\(fault)") }
            #expect(!ended.errors.contains(token.prefix(10)))
            #expect(ended.output == "Imported: 1 new, 0 known, 0 reactivated, 9 rejected\n")
        }
    }

    @Test func `The server rejects lines of an unknown app by their number`() async throws {
        try await withPipeline { scene in
            let text =
                "{\"app\":\"shop\",\"token\":\"\(Self.token)\"}\n\n{\"app\":\"nobody\",\"token\":\"\(Self.token)\"}\n"
            let file = try scene.control.directory.write("devices.jsonl", containing: text)
            let ended = try await ChildProcess.run(
                "sh",
                [
                    "-c", "\"$0\" devices import - --format jsonl --data \"$1\" < \"$2\"", ChildProcess.carillon,
                    scene.control.data, file,
                ])
            #expect(ended.errors.hasPrefix("line 3: rejected: there is no app \"nobody\""))
            #expect(ended.output == "Imported: 1 new, 0 known, 0 reactivated, 1 rejected\n")
        }
    }

    @Test func `An import that fails reports the last imported line`() async throws {
        try await withPipeline { scene in
            scene.devices.state.withLock {
                $0.refusal = Failure(.failed, "the disk is full")
                $0.callsBeforeRefusal = 1
            }
            var text = "app,token\n"
            for number in 1...1500 { text += "shop,\(Address(words: (0, 0, 0, UInt64(number))).hex)\n" }
            let ended = try await scene.run(
                "devices", "import", try scene.control.directory.write("devices.csv", containing: text))
            #expect(ended.status == 1)
            #expect(
                ended.errors.hasSuffix(
                    "the disk is full; lines up to 1001 were processed; correct the error and import the whole file "
                        + "again, which causes no duplicates\n"))
            #expect(ended.output == "Imported: 1000 new, 0 known, 0 reactivated, 0 rejected\n")
        }
    }

    @Test(arguments: DeviceFormat.allCases) func `An export can be imported`(_ format: DeviceFormat) async throws {
        try await withPipeline { scene in
            scene.fill(2100)
            var odd = DeviceRecord(
                id: PipelineScene.id(9), app: PipelineScene.shop, token: PipelineScene.token(9),
                tags: ["a;b", "c\\", "\"x\",y"])
            odd.user = "O'Neil, \"Ada\""
            odd.registeredAt = 7
            (odd.place.kind, odd.place.activity, odd.place.activityType) = (.activity, "order, 1", "Delivery")
            (odd.place.installation, odd.timeZone) = ("phone \"1\"", "Europe/Berlin")
            scene.devices.put(odd)
            var gone = DeviceRecord(id: PipelineScene.id(8), app: PipelineScene.shop, token: PipelineScene.token(8))
            gone.deactivatedAt = 8
            scene.devices.put(gone)
            var untold = DeviceRecord(id: PipelineScene.id(7), app: PipelineScene.shop, token: nil)
            untold.deactivatedAt = 8
            scene.devices.put(untold)
            let file = "\(scene.control.directory.path)/backup.\(format.rawValue)"
            let ended = try await scene.run("devices", "export", "--to", file)
            #expect(ended.output == "" && ended.status == 0)
            #expect(
                ended.errors
                    == "exported 2102 devices with tokens to \(file); left out 1 device without a token\n")
            var found = stat()
            #expect(stat(file, &found) == 0 && found.st_mode & 0o777 == 0o600)
            #expect(access(file + ".partial", F_OK) != 0)
            let plain = try await scene.run("devices", "export", "--format", format.rawValue)
            #expect(
                plain.output == String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self))
            try await withPipeline { other in
                let imported = try await other.run("devices", "import", file)
                #expect(
                    imported.output
                        == "Imported: 2101 new, 0 known, 0 reactivated, 0 rejected, 1 left out (inactive in the file)\n"
                )
                let back = try await other.devices.device(odd.id)
                #expect(back?.tags == odd.tags.sorted() && back?.user == odd.user)
                #expect(back?.place == odd.place && back?.timeZone == odd.timeZone)
            }
        }
    }

    @Test func `An export that fails leaves no part of a file`() async throws {
        let directory = try TemporaryDirectory()
        let old = try directory.write("devices.csv", containing: "old")
        let arguments = ["devices", "export", "--data", directory.path, "--out", old]
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status != 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["devices.csv"])
        #expect(FileManager.default.contents(atPath: old) == Data("old".utf8))
    }

    static let wrong: [([String], Int32, String)] = [
        (["devices", "ad"], 64, "unknown verb 'ad'; did you mean 'add'?"),
        (["devices", "add", "shop"], 64, "TOKEN or --token-file FILE is missing"),
        (["devices", "add", "shop", "abcd"], 65, "TOKEN has 2 bytes; a device token has 32"),
        (["devices", "add", "a/b", token], 65, "app is not an app id"),
        (["devices", "add", "nobody", token], 65, "there is no app \"nobody\""),
        (["devices", "add", "shop", token, "--usr", "x"], 64, "did you mean '--user'?"),
        (["devices", "add", "shop", token, "--replaces", "x"], 65, "--replaces is neither hexadecimal nor base64"),
        (["devices", "show", "xyz"], 64, "DEVICE is not a device id"),
        (["devices", "show", id], 65, "there is no device \(id)"),
        (["devices", "list", "--active", "--inactive"], 64, "'--active' cannot be combined with '--inactive'"),
        (["devices", "list", "--limit", "0"], 64, "'--limit' must be a whole number"),
        (["devices", "deactivate"], 64, "DEVICE is missing"),
        (["devices", "deactivate", "xyz"], 64, "DEVICE is not a device id"),
        (["devices", "deactivate", id], 65, "there is no device"),
        (["devices", "import", "-"], 64, "unknown format of the input: give --format csv or --format jsonl"),
        (["devices", "import", "/nowhere.csv"], 65, "cannot read /nowhere.csv: no such file"),
        (["devices", "import", "x.csv", "--app", "a/b"], 64, "'a/b' is not an app id"),
        (["devices", "export", "--to", "/nowhere/x.csv"], 65, "cannot write /nowhere/x.csv"),
        (["devices", "export", "--format", "xml"], 64, "'--format' must be csv or jsonl, not 'xml'"),
    ]

    @Test func `A list that stops at its limit has a note, also with JSON`() async throws {
        try await withPipeline { scene in
            for number in 0..<101 {
                scene.devices.put(
                    DeviceRecord(id: PipelineScene.id(UInt8(number)), app: PipelineScene.shop, token: nil))
            }
            let lines = try await scene.run("devices", "list", "--json")
            #expect(lines.output.split(separator: "\n").count == 100)
            #expect(lines.errors == "carillon devices list: there are more than 100; raise --limit\n")
            let all = try await scene.run("devices", "list", "--json", "--limit", "200")
            #expect(all.output.split(separator: "\n").count == 101 && all.errors.isEmpty)
        }
    }

    @Test func `Devices are removed by their ids`() async throws {
        try await withPipeline { scene in
            let (one, two) = (PipelineScene.id(1), PipelineScene.id(2))
            for id in [one, two] { scene.devices.put(DeviceRecord(id: id, app: PipelineScene.shop, token: nil)) }
            let ended = try await scene.run("devices", "remove", "\(one)", "\(PipelineScene.id(9))", "\(two)", "--json")
            // An unknown device does not prevent the others from being removed.
            #expect(ended.status == 65 && ended.errors.contains("there is no device \(PipelineScene.id(9))"))
            #expect(
                ended.output == #"{"device":"\#(one)","removed":true}"# + "\n" + #"{"device":"\#(two)","removed":true}"#
                    + "\n"
            )
            #expect(scene.devices.count == 0)
            scene.devices.put(DeviceRecord(id: one, app: PipelineScene.shop, token: nil))
            let foreign = try await scene.control.client.send("DELETE", to: "/v1/apps/news/devices/\(one)")
            #expect(foreign.status == 404 && scene.devices.count == 1)
        }
    }

    @Test func `Usage errors have an explanation and an exit code`() async throws {
        try await withPipeline { scene in
            for (arguments, status, message) in Self.wrong {
                let ended = try await scene.run(arguments)
                #expect(ended.status == status, "\(arguments): \(ended)")
                #expect(ended.errors.contains(message), "\(arguments): \(ended.errors)")
                #expect(!ended.errors.contains(Self.token))
            }
        }
    }
}

extension PipelineScene {
    func fill(_ count: Int) {
        for number in 1...count {
            let token = Address(words: (1, 2, 3, UInt64(number)))
            let id = Self.identities.device(of: Self.shop, token: token)
            devices.put(DeviceRecord(id: id, app: Self.shop, token: token, tags: ["t"]))
        }
    }
}
