import PushAPI
import TestSupport
import Testing

@testable import carillon

@Suite struct CSVTests {
    private func items(_ bytes: [UInt8], pieces: Int = .max) -> [CSVReader.Item] {
        var reader = CSVReader()
        var items: [CSVReader.Item] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.received(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            while let item = reader.next() { items.append(item) }
        }
        reader.ended()
        while let item = reader.next() { items.append(item) }
        return items
    }

    static let texts: [(String, [CSVReader.Item])] = [
        ("", []), ("\n\r\n\n", []), ("a", [.record(line: 1, fields: ["a"])]),
        ("a,b\n", [.record(line: 1, fields: ["a", "b"])]), ("a,b\r\n", [.record(line: 1, fields: ["a", "b"])]),
        ("a,\r\n,b", [.record(line: 1, fields: ["a", ""]), .record(line: 2, fields: ["", "b"])]),
        ("\u{feff}a\nb", [.record(line: 1, fields: ["a"]), .record(line: 2, fields: ["b"])]),
        ("\"a,b\",\"c\"\"d\"\r\n", [.record(line: 1, fields: ["a,b", "c\"d"])]),
        ("\"a\r\nb\",c\nd", [.record(line: 1, fields: ["a\r\nb", "c"]), .record(line: 3, fields: ["d"])]),
        ("\"\",\"\"", [.record(line: 1, fields: ["", ""])]), ("ä,日本", [.record(line: 1, fields: ["ä", "日本"])]),
        (
            "a\"b,c\nd",
            [
                .fault(line: 1, "a quotation mark within a field: quote the field and double the mark"),
                .record(line: 2, fields: ["d"]),
            ]
        ),
        (
            "\"a\"b\nd",
            [
                .fault(line: 1, "text after a closing quotation mark: double the marks within a field"),
                .record(line: 2, fields: ["d"]),
            ]
        ),
        (
            "a\n\"b\nc\nd",
            [
                .record(line: 1, fields: ["a"]),
                .fault(line: 2, "a closing quotation mark is missing"), .record(line: 3, fields: ["c"]),
                .record(line: 4, fields: ["d"]),
            ]
        ),
    ]

    @Test(arguments: texts) func `Records are parsed independently of how the bytes are split`(
        _ text: String, _ expected: [CSVReader.Item]
    ) {
        for pieces in [Int.max, 1, 2, 3, 7] {
            #expect(items(Array(text.utf8), pieces: pieces) == expected, "\(pieces)")
        }
    }

    @Test func `A line that is not UTF-8 is rejected with its number`() {
        #expect(
            items([0x61, 0x0a, 0xff, 0xfe, 0x0a, 0x62]) == [
                .record(line: 1, fields: ["a"]), .fault(line: 2, "not valid UTF-8"), .record(line: 3, fields: ["b"]),
            ])
    }

    @Test func `The length of a record is limited, and the next one is parsed`() {
        let long = String(repeating: "x", count: 200_000)
        for pieces in [Int.max, 65_536, 1000] {
            let plain = items(Array("a\n\(long)\nb\n".utf8), pieces: pieces)
            #expect(plain.count == 3 && plain.last == .record(line: 3, fields: ["b"]))
            // The opening mark is on line 2; the following lines are parsed as records of their own.
            let open = items(Array("a\n\"b\n\(String(repeating: "c,d\n", count: 40_000))e\n".utf8), pieces: pieces)
            #expect(open.count == 40_003 && open.last == .record(line: 40_003, fields: ["e"]))
            guard case .fault(line: 2, let what) = open[1] else {
                Issue.record("\(open[1])")
                return
            }
            #expect(what.contains("is a closing quotation mark missing?"))
        }
    }

    @Test func `Written records are parsed back unchanged`() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<2000 {
            let fields = (0..<Int.random(in: 1...5, using: &random)).map { _ in Self.text(6, using: &random) }
            guard fields != [""] else { continue }
            let pieces = Int.random(in: 1...20, using: &random)
            let read = items(Array(CSVWriter.line(fields).utf8), pieces: pieces)
            guard case .record(line: 1, fields: let found)? = read.first, read.count == 1 else {
                Issue.record("\(read)")
                continue
            }
            // Swift's strings are equal if they look the same.
            #expect(found.map { Array($0.utf8) } == fields.map { Array($0.utf8) }, "\(fields)")
        }
    }

    /// Returns a text of marks, letters, and accents that make characters of marks.
    fileprivate static func text(_ length: Int, using random: inout SeededRandom) -> String {
        let alphabet = Array("ab,\"\n\r;\\ äñ\u{301}\u{20dd}\u{200d}".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...length, using: &random) {
            text.append(alphabet.randomElement(using: &random)!)
        }
        return String(text)
    }

    @Test func `Mutated files neither trap nor hang, and splitting does not change the result`() {
        var random = SeededRandom(seed: 12)
        let sample = Array("token,user,tags\r\n\"aa\",\"b \"\"c\"\"\",x;y\r\nff,,\r\n\"multi\nline\",u,t\r\n".utf8)
        for _ in 0..<3000 {
            let bytes = random.mutate(sample, chance: 1)
            #expect(items(bytes) == items(bytes, pieces: Int.random(in: 1...9, using: &random)))
        }
    }

    @Test(arguments: [[], ["a"], ["a", "b"], ["a;b", "c\\d", "\\;"], ["\\"], ["ä b"], ["a;\u{301}b", "c\\\u{301}"]])
    func `Tags in one column are parsed back unchanged`(_ tags: [String]) {
        #expect(TagColumn.tags(TagColumn.text(tags)) == tags)
    }

    @Test func `A device of any user with any tags is the same after export and import`() throws {
        var random = SeededRandom(seed: 13)
        for _ in 0..<2000 {
            let user = Self.text(6, using: &random)
            let tags = (0..<Int.random(in: 0...4, using: &random)).map { _ in Self.text(4, using: &random) }
                .filter { !$0.isEmpty }
            var reader = DeviceFileReader(.csv, app: nil)
            reader.received(CSVWriter.line(["app", "token", "user", "tags"]).utf8)
            reader.received(CSVWriter.line(["shop", "ab", user, TagColumn.text(tags)]).utf8)
            reader.ended()
            guard case .device(line: 2, let device)? = try reader.next() else {
                Issue.record("\(user) \(tags)")
                continue
            }
            #expect(Array((device.user ?? "").utf8) == Array(user.utf8), "\(user)")
            #expect((device.tags ?? []).map { Array($0.utf8) } == tags.map { Array($0.utf8) }, "\(tags)")
        }
    }
}

@Suite struct DeviceFileTests {
    private static let token = String(repeating: "ab", count: 32)

    private func read(_ format: DeviceFormat, app: String? = nil, _ text: String) throws -> [DeviceFileReader.Item] {
        var reader = DeviceFileReader(format, app: app)
        var items: [DeviceFileReader.Item] = []
        for byte in text.utf8 {
            reader.received(CollectionOfOne(byte))
            while let item = try reader.next() { items.append(item) }
        }
        reader.ended()
        while let item = try reader.next() { items.append(item) }
        return items
    }

    private var whole: DeviceInput {
        var device = DeviceInput()
        (device.app, device.token, device.user) = ("shop", Self.token, "ada")
        (device.tags, device.locale, device.platform, device.appVersion) = (["de", "beta"], "de-CH", "ios", "4.2")
        device.replaces = String(repeating: "cd", count: 32)
        return device
    }

    @Test func `Both formats give the same devices`() throws {
        let old = String(repeating: "cd", count: 32)
        let csv = """
            app,token,user,tags,locale,platform,app_version,replaces
            shop,\(Self.token),ada,de;beta,de-CH,ios,4.2,\(old)

            """
        let json = """
            {"app":"shop","token":"\(Self.token)","user":"ada","tags":["de","beta"],"locale":"de-CH","platform":"ios",\
            "app_version":"4.2","replaces":"\(old)"}
            """
        #expect(try read(.csv, csv) == [.device(line: 2, whole)])
        #expect(try read(.jsonl, json) == [.device(line: 1, whole)])
    }

    @Test func `Empty values are left out, and the app can come from the option`() throws {
        var bare = DeviceInput()
        (bare.app, bare.token) = ("news", Self.token)
        #expect(try read(.csv, app: "news", "Token,User,tags\n\(Self.token),,\n") == [.device(line: 2, bare)])
        #expect(
            try read(.jsonl, app: "news", "\u{feff}\n{\"token\":\"\(Self.token)\",\"user\":null}\n\n") == [
                .device(line: 2, bare)
            ])
    }

    @Test func `Devices that are inactive in an export are left out`() throws {
        #expect(try read(.csv, "app,token,active\nshop,\(Self.token),false\n") == [.inactive(line: 2)])
        #expect(
            try read(.jsonl, "{\"app\":\"shop\",\"token\":\"\(Self.token)\",\"active\":false,\"id\":\"x\"}") == [
                .inactive(line: 1)
            ])
    }

    @Test func `Active is true or false in any case, and another text is refused`() throws {
        let rows = ["TRUE", "True", "true", "", "False", "1", Self.token]
        let text = rows.map { "shop,\(Self.token),\($0)\n" }.joined()
        let words = rows.map { #"{"app":"shop","token":"\#(Self.token)","active":"\#($0)"}"# }
        let values = ["true", "null", "false", "1", "[]"].map {
            #"{"app":"shop","token":"\#(Self.token)","active":\#($0)}"#
        }
        func kinds(_ items: [DeviceFileReader.Item]) -> [String] {
            items.map { item in
                switch item {
                case .device: "device"
                case .inactive: "inactive"
                case .refused(_, let problem): problem
                }
            }
        }
        let refused = "active is neither true nor false"
        #expect(
            kinds(try read(.csv, "app,token,active\n" + text))
                == ["device", "device", "device", "device", "inactive", refused, refused])
        #expect(
            kinds(try read(.jsonl, words.joined(separator: "\n")))
                == ["device", "device", "device", refused, "inactive", refused, refused])
        #expect(
            kinds(try read(.jsonl, values.joined(separator: "\n")))
                == ["device", "device", "inactive", refused, refused])
    }

    static let headings: [(String, String?, String)] = [
        ("tokn,app\n", nil, "there is no column \"tokn\"; did you mean \"token\"?"),
        ("token,monkey\n", nil, "there is no column \"monkey\"; the columns are app, token"),
        ("app,user\n", nil, "heading in line 1: no column token"), ("token,user\n", nil, "give --app APP"),
        ("token,token\n", "shop", "duplicate column token"),
        ("a\"b\n", "shop", "heading in line 1: a quotation mark within a field"),
    ]

    @Test(arguments: headings) func `An invalid heading is reported`(_ text: String, _ app: String?, _ message: String)
    {
        let failure = #expect(throws: Failure.self) { _ = try read(.csv, app: app, text) }
        #expect(failure?.code == .badInput && failure?.description.contains(message) == true, "\(failure!)")
    }

    static let wrong: [(DeviceFormat, String, String)] = [
        (.csv, "token\n\(token),x\n", "2 fields, but the heading has 1"),
        (.jsonl, "{", "invalid JSON"), (.jsonl, "[]", "a device is an object, not an array"),
        (.jsonl, "{\"token\":\"\(token)\",\"usr\":\"a\"}", "there is no key \"usr\"; did you mean \"user\"?"),
        (.jsonl, "{\"token\":1}", "token is a string, not a number"),
        (.jsonl, "{\"token\":\"\(token)\",\"tags\":\"a\"}", "tags is an array of strings, not a string"),
        (.jsonl, "{\"token\":\"\(token)\",\"tags\":[1]}", "one element is a number"),
        (.jsonl, "{\"token\":\"\(token)\",\"token\":\"\(token)\"}", "duplicate key \"token\""),
        (.jsonl, "{\"token\":\"\(String(repeating: "a", count: 70_000))\"}", "longer than 64 KiB"),
    ]

    @Test(arguments: wrong) func `Only the invalid line is rejected, and its token is not printed`(
        _ format: DeviceFormat, _ text: String, _ message: String
    ) throws {
        let good = format == .csv ? "" : "\n{\"token\":\"\(Self.token)\"}\n"
        let items = try read(format, app: "shop", text + good)
        guard case .refused(_, let what) = items[0] else {
            Issue.record("\(items)")
            return
        }
        #expect(what.contains(message), "\(what)")
        #expect(!what.contains(Self.token.prefix(10)))
        #expect(items.count == (format == .csv ? 1 : 2))
    }

    @Test func `Addresses are sent as they are in the file, texts and objects`() throws {
        let object = #"{"endpoint":"https://example.com/1","keys":{"auth":"a","p256dh":"b"}}"#
        let lines = [#"{"app":"web","token":\#(object)}"#, #"{"app":"android","token":"FID:x:APA91b-y_z"}"#]
        let json = try read(.jsonl, lines.joined(separator: "\n"))
        let csv = try read(.csv, "app,token\nweb,\"\(object.replacing("\"", with: "\"\""))\"\n")
        func body(_ item: DeviceFileReader.Item?) -> String {
            guard case .device(_, let device)? = item else { return "\(String(describing: item))" }
            return String(decoding: device.json.bytes, as: UTF8.self)
        }
        #expect(
            json.map { body($0) } == [
                #"{"app":"web","token":\#(object)}"#, #"{"app":"android","token":"FID:x:APA91b-y_z"}"#,
            ])
        #expect(body(csv.first) == #"{"app":"web","token":"\#(object.replacing("\"", with: "\\\""))"}"#)
    }

    @Test func `The format is chosen by option and file name`() throws {
        #expect(try DeviceFormat.choose(nil, file: "a.CSV") == .csv)
        #expect(try DeviceFormat.choose(nil, file: "a.ndjson") == .jsonl)
        #expect(try DeviceFormat.choose("jsonl", file: "a.csv") == .jsonl)
        #expect(try DeviceFormat.choose(nil, file: "a.txt") == nil)
        #expect(throws: Failure.self) { try DeviceFormat.choose("xml", file: nil) }
    }
}
