import PushText
package import PushTransport
import PushWire

/// Reads the values of a request, and collects all of their faults.
///
/// An input type reads itself once, in its initializer: each call names a value, its place, its form and its meaning.
/// The same initializer declares the input. Without a request, the reader records each call and returns the example of
/// the form; `/openapi.json` is made from what it recorded.
package struct InputReader {
    private enum Source {
        case declaration
        case request(path: [String: String], query: [HTTP1QueryItem], body: Body)
    }

    private enum Body {
        case absent
        case json(JSONDocument, JSONDocument.Position)
        case form([HTTP1QueryItem])
    }

    private let source: Source
    private var faults = InputFaults()
    /// The calls so far, without forms if a request is read.
    private(set) var declared = InputDeclaration()
    /// The names of the values of a request that were asked for, for the search of others.
    private var bodyNames: [String] = []
    private var queryNames: [String] = []
    private var ignoresOthers = false
    /// The sender of the request.
    package internal(set) var peer = HTTP1Peer.local

    /// Creates a reader that records the declaration of an input.
    package init() {
        source = .declaration
    }

    init(path: [String: String], query: [HTTP1QueryItem]) {
        source = .request(path: path, query: query, body: .absent)
    }

    init(path: [String: String], query: [HTTP1QueryItem], form: [HTTP1QueryItem]) {
        source = .request(path: path, query: query, body: .form(form))
    }

    init(path: [String: String], query: [HTTP1QueryItem], document: JSONDocument) {
        source = .request(path: path, query: query, body: .json(document, document.root))
        if document.kind(document.root) != .object {
            faults.add(.wrongType, detail: "an object is expected, not \(document.kind(document.root).name)")
        } else if let fault = InputFault(repeatedKeyIn: document) {
            faults.add(fault)
        }
    }

    /// Creates a reader of an object in a body.
    init(document: JSONDocument, at position: JSONDocument.Position, faults: InputFaults) {
        source = .request(path: [:], query: [], body: .json(document, position))
        self.faults = faults
    }

    // MARK: Values

    /// Reads a value of the path.
    package mutating func path<Value>(_ name: String, as form: Form<Value>, about: String) -> Value {
        guard case .request(let path, _, _) = source else {
            declared.add(name, in: .path, isRequired: true, schema: form.schema, about: about)
            return form.example
        }
        return faults.at(.parameter(name)) { faults in form.readText?(path[name] ?? "", &faults) } ?? form.example
    }

    /// Reads a value of the query; nil if it is absent. An empty value is a fault: it is nearly always a variable that
    /// the client did not set, and a filter that is ignored would return everything.
    package mutating func query<Value>(_ name: String, as form: Form<Value>, about: String) -> Value? {
        guard case .request(_, let query, _) = source else {
            declared.add(name, in: .query, isRequired: false, schema: form.schema.notEmpty, about: about)
            return nil
        }
        queryNames.append(name)
        guard let item = query.first(where: { $0.name == name }) else { return nil }
        return faults.at(.parameter(name)) { faults in
            guard !item.value.isEmpty else {
                faults.add(.tooShort, detail: "the value is empty; leave the parameter out, or give it a value")
                return nil
            }
            return form.readText?(item.value, &faults)
        }
    }

    /// Reads a value that the body must have.
    package mutating func body<Value>(_ name: String, as form: Form<Value>, about: String) -> Value {
        if case .declaration = source {
            declared.add(name, in: .body, isRequired: true, schema: form.schema, about: about)
            return form.example
        }
        let (value, isGiven) = member(name, as: form)
        if !isGiven { faults.inside(name) { $0.add(.missing, detail: "the value is missing") } }
        return value ?? form.example
    }

    /// Reads a value that the body may have; nil if it is absent or null.
    package mutating func optional<Value>(_ name: String, as form: Form<Value>, about: String) -> Value? {
        if case .declaration = source {
            declared.add(name, in: .body, isRequired: false, schema: form.schema, about: about)
            return nil
        }
        return member(name, as: form).value
    }

    private mutating func member<Value>(_ name: String, as form: Form<Value>) -> (value: Value?, isGiven: Bool) {
        guard case .request(_, _, let body) = source else { return (nil, false) }
        bodyNames.append(name)
        switch body {
        case .absent: return (nil, false)
        case .json(let document, let object):
            guard document.kind(object) == .object,
                let member = document.members(object).first(where: { document.isString($0.key, equalTo: name) }),
                document.kind(member.value) != .null
            else { return (nil, false) }
            return (faults.inside(name) { form.readJSON(document, member.value, &$0) }, true)
        case .form(let items):
            guard let read = form.readText, let item = items.first(where: { $0.name == name }) else {
                return (nil, false)
            }
            return (faults.inside(name) { read(item.value, &$0) }, true)
        }
    }

    /// Whether the body has a member with this name, which is not null.
    package func has(_ name: String) -> Bool {
        switch source {
        case .request(_, _, .json(let document, let object)):
            document.members(object).contains {
                document.isString($0.key, equalTo: name) && document.kind($0.value) != .null
            }
        case .request(_, _, .form(let items)): items.contains { $0.name == name }
        case .request(_, _, .absent), .declaration: false
        }
    }

    // MARK: Faults

    /// Adds a fault of a member of the body, if the condition does not hold.
    package mutating func require(
        _ condition: Bool, at name: String, code: InputFault.Code = .badValue, detail: @autoclosure () -> String
    ) {
        guard !condition, case .request = source else { return }
        let text = detail()
        faults.inside(name) { $0.add(code, detail: text) }
    }

    /// Adds a fault if the body has neither or both of two members.
    package mutating func requireOne(of first: String, or second: String, detail: String) {
        if case .declaration = source { return declared.add(oneOf: first, second) }
        require(has(first) != has(second), at: first, code: has(first) ? .badValue : .missing, detail: detail)
    }

    /// Adds a fault of a parameter of the query, if the condition does not hold.
    package mutating func require(
        _ condition: Bool, atQuery name: String, code: InputFault.Code = .badValue, detail: @autoclosure () -> String
    ) {
        guard !condition, case .request = source else { return }
        faults.add(InputFault(code, at: .parameter(name), detail: detail()))
    }

    /// Allows members of the body that are not asked for.
    package mutating func ignoreOthers() {
        ignoresOthers = true
        declared.ignoreOthers()
    }

    /// Returns all faults, also of values that were not asked for: a misspelled filter must not return everything.
    consuming func finish() -> InputFaults {
        guard case .request(_, let query, let body) = source else { return faults }
        report(query.map(\.name), allowed: queryNames, kind: "query parameter") { .parameter($0) }
        switch body {
        case _ where ignoresOthers: break
        case .absent: break
        case .form(let items):
            report(items.map(\.name), allowed: bodyNames, kind: "field") { .pointer("/" + JSONPointer.escaped($0)) }
        case .json(let document, let object):
            for member in document.members(object) {
                guard !bodyNames.contains(where: { document.isString(member.key, equalTo: $0) }) else { continue }
                let name = document.string(member.key) ?? ""
                let allowed = bodyNames
                faults.inside(name) { faults in
                    let place = faults.place
                    faults.add(
                        InputFault(.unknown, at: place, detail: Self.unknown(name, allowed: allowed, kind: "key")))
                }
            }
        }
        return faults
    }

    private mutating func report(
        _ names: [String], allowed: [String], kind: String, place: (String) -> InputFault.Place
    ) {
        // A form has up to half a million names, so a search in the earlier ones would take minutes.
        var given: Set<String> = []
        for name in names {
            if !allowed.contains(name) {
                faults.add(
                    InputFault(
                        .unknown, at: place(PlainText.line(name, limit: 60)),
                        detail: Self.unknown(name, allowed: allowed, kind: kind)))
            } else if !given.insert(name).inserted {
                faults.add(InputFault(.repeated, at: place(name), detail: "the \(kind) is given twice"))
            }
        }
    }

    private static func unknown(_ name: String, allowed: [String], kind: String) -> String {
        let shown = PlainText.line(name, limit: 60)
        let nearest = NearestWord.to(shown, in: allowed)
        return "there is no \(kind) \"\(shown)\" here" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
    }
}
