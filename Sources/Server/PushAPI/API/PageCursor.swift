package import PushWire

/// The member `next` of a page: the value of `after` for the next page, or null on the last one.
package enum PageCursor: Codable, Sendable, Equatable {
    case after(String)
    case end

    package init(_ text: String?) {
        self = text.map { .after($0) } ?? .end
    }

    package var text: String? {
        if case .after(let text) = self { text } else { nil }
    }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        self = value.decodeNil() ? .end : .after(try value.decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .after(let text): try value.encode(text)
        case .end: try value.encodeNil()
        }
    }
}

extension PageCursor: SchemaDescribing {
    package static var jsonSchema: JSONValue {
        [
            "type": ["string", "null"],
            "description": "The value of after for the next page, or null on the last page.",
        ]
    }
}
