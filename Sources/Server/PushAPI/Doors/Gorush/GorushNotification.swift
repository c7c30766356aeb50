import PushModel
import PushText
import PushWire

/// One notification of a request: its values by key, checked for their forms.
struct GorushNotification {
    let document: JSONDocument
    let root: JSONDocument.Position
    let platform: GorushPlatform
    /// The keys that have no effect: as many as an answer names.
    private(set) var ignored: [String] = []
    static let maxIgnored = 40
    private var values: [GorushKey: JSONDocument.Position] = [:]
    /// Where it is in the request, for messages.
    private let place: String

    init(_ root: JSONDocument.Position, number: Int, in document: JSONDocument) throws(GorushFault) {
        self.document = document
        self.root = root
        place = "notifications[\(number)]"
        guard document.kind(root) == .object else {
            throw GorushFault("\(place) is \(document.kind(root).name), not an object")
        }
        // It decides what the other keys mean.
        platform = try Self.platform(of: root, in: document, at: place)
        for member in document.members(root) { try add(member) }
    }

    private static func platform(
        of root: JSONDocument.Position, in document: JSONDocument, at place: String
    ) throws(GorushFault) -> GorushPlatform {
        guard let value = document.value("platform", in: root) else {
            throw GorushFault("\(place).platform is missing; it is 1 (iOS) or 2 (Android)")
        }
        let number = document.integer(value)
        if let platform = number.flatMap(GorushPlatform.init(rawValue:)) { return platform }
        throw GorushFault(
            number == 3
                ? "\(place).platform is 3 (Huawei), which Carillon does not serve"
                : "\(place).platform must be 1 (iOS) or 2 (Android)")
    }

    private mutating func add(_ member: JSONDocument.Member) throws(GorushFault) {
        let name = document.string(member.key) ?? ""
        guard let key = GorushKey(rawValue: name) else {
            let nearest = NearestWord.to(name, in: GorushKey.allCases.map(\.rawValue)).map {
                "; did you mean \"\($0)\"?"
            }
            throw fault(PlainText.line(name, limit: 40), "is a key that gorush does not have\(nearest ?? "")")
        }
        // To gorush, null is the same as nothing.
        guard document.kind(member.value) != .null else { return }
        guard has(member.value, form: key.form) else { throw fault(key, "must be \(key.form.rawValue)") }
        switch key.use(on: platform) {
        case .taken: values[key] = member.value
        case .ignored: if !isEmpty(member.value) { ignore(name) }
        case .refused:
            if !isEmpty(member.value) {
                throw fault(key, "is refused: Carillon sends to tokens, not to topics and conditions of FCM")
            }
        }
    }

    private func has(_ value: JSONDocument.Position, form: GorushKey.Form) -> Bool {
        let kind = document.kind(value)
        switch form {
        case .text: return kind.isString
        case .texts: return kind == .array && document.elements(value).allSatisfy { document.kind($0).isString }
        case .whole: return document.integer(value) != nil
        case .number: return document.double(value) != nil
        case .flag: return kind.isBool
        case .object: return kind == .object
        case .any: return true
        }
    }

    /// Whether the value is one that Go writes for a field that is not set.
    private func isEmpty(_ value: JSONDocument.Position) -> Bool {
        switch document.kind(value) {
        case .string: document.text(value).count == 2
        case .object: !document.members(value).contains { _ in true }
        case .array: !document.elements(value).contains { _ in true }
        case .integer: document.integer(value) == 0
        case .false, .null: true
        default: false
        }
    }

    /// Notes a key that has no effect.
    mutating func ignore(_ name: @autoclosure () -> String) {
        guard ignored.count < Self.maxIgnored else { return }
        let name = name()
        if !ignored.contains(name) { ignored.append(name) }
    }

    // MARK: Values

    subscript(key: GorushKey) -> JSONDocument.Position? { values[key] }

    /// Returns a text; nil if there is none, or an empty one.
    func text(_ key: GorushKey) -> String? {
        guard let text = self[key].flatMap({ document.string($0) }), !text.isEmpty else { return nil }
        return text
    }

    func flag(_ key: GorushKey) -> Bool { self[key].flatMap { document.bool($0) } ?? false }

    func whole(_ key: GorushKey) -> Int64? { self[key].flatMap { document.integer($0) } }

    /// Returns an object or a list with something in it, without white space.
    func compact(_ key: GorushKey) -> [UInt8]? {
        self[key].flatMap { isEmpty($0) ? nil : document.compact($0) }
    }

    /// The tokens in their order, with `to` as the last one.
    var tokens: [String] {
        let listed = self[.tokens].map { document.elements($0).map { document.string($0) ?? "" } } ?? []
        return listed + (text(.to).map { [$0] } ?? [])
    }

    func fault(_ key: GorushKey, _ problem: String) -> GorushFault { fault(key.rawValue, problem) }

    func fault(_ path: String, _ problem: String) -> GorushFault { GorushFault("\(place).\(path) \(problem)") }
}

extension JSONDocument {
    /// Returns the text of a value without white space between its parts.
    func compact(_ position: Position) -> [UInt8] {
        var (isInString, isEscaped) = (false, false)
        return text(position).filter { byte in
            if isInString {
                // The byte after a backslash belongs to it.
                let isPlain = !isEscaped
                isEscaped = isPlain && byte == UInt8(ascii: "\\")
                if isPlain, byte == UInt8(ascii: "\"") { isInString = false }
                return true
            }
            isInString = byte == UInt8(ascii: "\"")
            return byte > 0x20
        }
    }
}
