package import PushTime

/// In tests, a number is a time: milliseconds since 1970.
extension WallTime: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) {
        self.init(milliseconds: value)
    }
}

/// In tests, a number is a time: seconds since 1970.
extension UnixSeconds: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) {
        self.init(value)
    }
}

extension WallTime {
    package static func + (time: WallTime, milliseconds: Int64) -> WallTime { time.adding(milliseconds: milliseconds) }

    package static func - (time: WallTime, milliseconds: Int64) -> WallTime { time.adding(milliseconds: -milliseconds) }

    package static func += (time: inout WallTime, milliseconds: Int64) { time = time + milliseconds }
}

extension UnixSeconds {
    package static func + (time: UnixSeconds, seconds: Int64) -> UnixSeconds { UnixSeconds(time.value + seconds) }

    package static func - (time: UnixSeconds, seconds: Int64) -> UnixSeconds { UnixSeconds(time.value - seconds) }
}
