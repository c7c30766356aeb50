import CSimdJSON

/// A text that is followed by ``padding`` readable bytes, which simdjson may read.
struct PaddedText {
    static let padding = CSimdJSON_padding()

    let view: ByteView

    /// - Important: ``padding`` bytes after `padded` must be readable.
    @unsafe
    init(padded view: ByteView) {
        self.view = view
    }

    /// Creates a text that is a part of another one; nil if too few bytes of the other text follow it.
    init?(_ range: Range<Int>, of text: ByteView) {
        guard text.count - range.upperBound >= Self.padding else { return nil }
        view = text[range]
    }

    var count: Int { view.count }
}
